"""The farm: mutated input for every layer, from bytes of a file to whole runs of `analyze`, and checks of the results.

    python -m benchmarks.farm                          minutes: every layer, a new seed each time
    python -m benchmarks.farm --size smoke             under a minute
    python -m benchmarks.farm --size long --table T.md hours; writes the figures as the table of docs/hardening.md
    python -m benchmarks.farm --layers fields --seed 7 --first 41 --inputs 1     one round again

layer       what a layer is: it makes inputs from a random generator and runs them
registry    the layers, and how many inputs each gets
runner      runs each layer in a process of its own; counts, kills what hangs, repeats in a new one what ended it
rounds      that process: round after round, each from a seed of its own
shrinking   makes an input that fails small
findings    what failed, once each, as files that show it again

Inputs: mutations (bytes), hostile_values (fields by type), message_tree (Kafka's messages, field by field), vectors.
Layers below the meaning: messages, record_sets, conversations, capture_files, packets.
Layers above: scene and rendering (conversations out of captures and back into packets), the scene_* modules (what is
odd in them), whole_analyze (every command over one mutated capture), checks (what must hold then), damaged_datasets.
Around them: machine (processes that are killed or lack something).
"""
