#!/usr/bin/env bash
# ensure_export_tools.sh FOLDER: puts into FOLDER the tools for which exports are made, so that `make exports` can load
# each export where it belongs: promtool and a Prometheus, an OpenTelemetry collector, Grafana's schema. What is there
# is kept. Needs Go and npm, a quarter of an hour and 5 GB of Go's caches; where one of them is missing, one line says
# so, and this still ends with 0: what a missing tool would check is skipped then.
set -euo pipefail
prometheus=v0.316.0 collector=v0.161.0 grafana=13.2.3 typescript=5.9.3
mkdir -p "$1/bin"
cd "$1"
export GOBIN=$PWD/bin GOFLAGS=-buildvcs=false

for name in promtool prometheus; do
  [ -x "bin/$name" ] || go install "github.com/prometheus/prometheus/cmd/$name@$prometheus" ||
    echo "$name could not be built: what needs it is skipped"
done

# A collector that takes spans over HTTP and writes them to a file.
cat >collector.yaml <<END
dist: {name: otelcol, output_path: $PWD/collector, version: ${collector#v}}
receivers: [{gomod: go.opentelemetry.io/collector/receiver/otlpreceiver $collector}]
exporters: [{gomod: github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter $collector}]
END
[ -x bin/otelcol ] || {
  go run "go.opentelemetry.io/collector/cmd/builder@$collector" --config collector.yaml && mv collector/otelcol bin/
} || echo 'otelcol could not be built: what needs it is skipped'

[ -d node_modules/@grafana/schema ] ||
  npm install --silent --no-audit --no-fund --ignore-scripts "@grafana/schema@$grafana" "typescript@$typescript" ||
  echo "Grafana's schema could not be installed: what needs it is skipped"

# Readers in Python have an environment of their own: what they need is not what kafkascope needs.
[ -x bin/python-with-readers ] || {
  python3 -m venv python && python/bin/python -m pip install -q 'parsezeeklogs==3.0.1' 'py-ocsf-models==0.10.0' 'sarif-tools==3.0.5' &&
    printf '#!/bin/sh\nexec "%s/python/bin/python" "$@"\n' "$PWD" >bin/python-with-readers && chmod +x bin/python-with-readers
} || echo 'readers of Zeek logs, OCSF and SARIF could not be installed: what needs them is skipped'
