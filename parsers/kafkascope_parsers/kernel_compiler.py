"""Compiles a kernel with numba. Only compiling imports this module and needs numba: compiled code is loaded without it.

It uses undocumented names of numba: the options of a compilation, and the module of the finished library. The tests of
kernels pass with the oldest allowed version (0.61.0) and with 0.68.1.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numba as nb
from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils, compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numba.np.numpy_support import as_dtype, from_dtype

from kafkascope_parsers.kernel_arguments import ArrayKind, Kind, RowKind, TupleKind
from kafkascope_parsers.kernel_code import FUNCTION, RESULT, ResultKind, result_text
from kafkascope_parsers.kernel_linker import link
from kafkascope_parsers.kernel_target import target

nb.config.CPU_NAME, nb.config.CPU_FEATURES = target().cpu, ""
_PLAIN = {int: types.int64, bool: types.boolean, float: types.float64, type(None): types.none}


def dispatcher(function: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    """Returns numba's dispatcher for a kernel, by which other kernels call it."""
    return nb.njit(**options)(function)


@global_compiler_lock
def compile_kernel(made: Any, kinds: Sequence[Kind]) -> bytes:
    """Compiles a kernel (given as its dispatcher) for arguments of these kinds to a shared library."""
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    flags = compiler.Flags()
    cpu_target.options.parse_as_flags(flags, made.targetoptions)
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
    compiled = compiler.compile_extra(
        cpu_target.typing_context,
        cpu_target.target_context,
        made.py_func,
        tuple(map(_type, kinds)),
        return_type=None,
        flags=flags,
        locals={},
    )
    library = compiled.library
    library._ensure_finalized()
    if library.has_dynamic_globals:
        raise TypeError(f"{made.py_func.__name__} names a large array, whose place machine code would hold: pass it")
    result = result_text(_result_kind(compiled.signature.return_type))
    return link(_object_file(library._final_module, compiled.fndesc.llvm_func_name, result))


def _type(kind: Kind) -> Any:
    """Returns numba's type of an argument."""
    if isinstance(kind, ArrayKind):
        layout = "C" if kind.is_contiguous else "A"
        item = from_dtype(kind.dtype)
        return types.Array(item, kind.n_dimensions, layout, readonly=not kind.is_writeable, aligned=kind.is_aligned)
    if isinstance(kind, TupleKind):
        return types.BaseTuple.from_types(tuple(map(_type, kind.items)), kind.made_by)
    if isinstance(kind, RowKind):
        return from_dtype(kind.dtype)
    return _PLAIN[kind] if isinstance(kind, type) else from_dtype(kind)


def _object_file(module: Any, function: str, result: str) -> bytes:
    """Returns position-independent machine code. All its names are local, except the function and the result text."""
    module = module.clone()
    for each in (*module.functions, *module.global_variables):
        if each.name == function:
            each.name = FUNCTION
        elif not each.is_declaration:
            each.linkage = "internal"
    text = ir.Constant(ir.ArrayType(ir.IntType(8), len(result) + 1), bytearray(result.encode() + b"\0"))
    described = ir.Module()
    variable = ir.GlobalVariable(described, text.type, RESULT)
    variable.global_constant, variable.initializer = True, text
    module.link_in(binding.parse_assembly(str(described)))
    machine = binding.Target.from_triple(module.triple).create_target_machine(
        cpu=target().cpu, opt=3, reloc="pic", codemodel="small"
    )
    made: bytes = machine.emit_object(module)
    return made


def _result_kind(made: Any) -> ResultKind:
    if isinstance(made, types.NoneType):
        return None
    if isinstance(made, types.BaseTuple) and not isinstance(made, types.BaseNamedTuple):
        return tuple([_number(item) for item in made])
    return _number(made)


def _number(made: Any) -> str:
    if not isinstance(made, types.Number | types.Boolean):
        raise TypeError(f"a kernel cannot return {made}")
    return str(as_dtype(made))


def instruction_type(name: str, crc_bits: int, data_bits: int) -> Any:
    """Returns numba's type of a function of (crc, data) that is one processor instruction with this LLVM name."""
    crc_type, data_type = getattr(types, f"uint{crc_bits}"), getattr(types, f"uint{data_bits}")

    @intrinsic
    def step(typing_context, crc, data):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            made = ir.FunctionType(ir.IntType(crc_bits), [ir.IntType(crc_bits), ir.IntType(data_bits)])
            return builder.call(builder.module.declare_intrinsic(name, fnty=made), args)

        return crc_type(crc_type, data_type), generate

    cpu_target.typing_context.refresh()
    return cpu_target.typing_context.resolve_value_type(step)


def prefetch_type() -> Any:
    """Returns numba's type of a function of (array, index) that prefetches an item of the array."""

    @intrinsic
    def prefetch(typing_context, array, index):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            found = make_array(array)(context, builder, args[0])
            place = builder.ptrtoint(found.data, ir.IntType(64))
            (stride,) = cgutils.unpack_tuple(builder, found.strides, 1)
            place = builder.add(place, builder.mul(args[1], stride))
            address, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
            made = ir.FunctionType(ir.VoidType(), [address, flag, flag, flag])
            to_read, keep, data = flag(0), flag(3), flag(1)
            step = builder.module.declare_intrinsic("llvm.prefetch", [address], made)
            builder.call(step, [builder.inttoptr(place, address), to_read, keep, data])
            return context.get_dummy_value()

        return types.none(array, types.int64), generate

    cpu_target.typing_context.refresh()
    return cpu_target.typing_context.resolve_value_type(prefetch)
