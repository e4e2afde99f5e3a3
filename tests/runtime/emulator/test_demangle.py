"""Demangled names: equal to those of libstdc++, or unchanged; never a failure."""

from __future__ import annotations

import ctypes
import random
import re
import time

import pytest

from warpfold.commands.requests.kernels import called
from warpfold.runtime.emulator.ptx.demangle import LONGEST, demangle

NAMES = {
    # kernels and shared variables of nvcc's
    "_Z5plainPfN5tools4TileIfLi4ELb0EEE": "plain(float*, tools::Tile<float, 4, false>)",
    "_ZN5tools9block_sumIfLi128EEEvPKT_PS1_i": "tools::block_sum<float, 128>(float const*, float*, int)",
    "_ZZN5tools9block_sumIfLi128EEEvPKT_PS1_iE6states": (
        "tools::block_sum<float, 128>(float const*, float*, int)::states"
    ),
    "_ZZ3addPfiE5cache_0": "add(float*, int)::cache",
    "_ZZ3addPfiE5cache__12_": "add(float*, int)::cache",
    "_Z6kernelILi256ELb1E13__nv_bfloat16EvPT1_i": "kernel<256, true, __nv_bfloat16>(__nv_bfloat16*, int)",
    "_Z6kernelI6__halfEvPKT_S3_": "kernel<__half>(__half const*, __half const*)",
    "_ZN3cub17CUB_200200_800_NS11EmptyKernelIvEEvv": "cub::CUB_200200_800_NS::EmptyKernel<void>()",
    # template arguments
    "_Z3fooILb1ELj3ELm5ELln5ELc97EEvv": "foo<true, 3u, 5ul, -5l, (char)97>()",
    "_Z3fooILN2ns4EnumE1EEvv": "foo<(ns::Enum)1>()",
    "_Z3fooIDnLDn0EEvv": "foo<decltype(nullptr), (decltype(nullptr))0>()",
    "_Z3fooIL_Z3barvEEvv": "foo<bar()>()",
    "_Z3fooIXadL_Z3barvEEEvv": "foo<&(bar())>()",
    "_Z3fooIJifdEEvDpT_": "foo<int, float, double>(int, float, double)",
    "_Z3fooIJifdEEvDpPKT_": "foo<int, float, double>(int const*, float const*, double const*)",
    "_Z3fooIJEEvDpT_": "foo<>()",
    "_Z3fooISt6vectorIiSaIiEEEvT_": (
        "foo<std::vector<int, std::allocator<int> > >(std::vector<int, std::allocator<int> >)"
    ),
    "_Z3fooILi3EEvRAT__Ki": "foo<3>(int const (&) [3])",
    "_Z3fooIN1B1CIiEEEvT_S3_": "foo<B::C<int> >(B::C<int>, B::C<int>)",
    # types
    "_Z1fPFvvE": "f(void (*)())",
    "_Z1fPFiPKcdEi": "f(int (*)(char const*, double), int)",
    "_Z1fSt8functionIFviEE": "f(std::function<void (int)>)",
    "_Z1fRA3_A4_f": "f(float (&) [3][4])",
    "_Z1fM3FooFviE": "f(void (Foo::*)(int))",
    "_Z1fM3Fooi": "f(int Foo::*)",
    "_Z1fPVKfKPd": "f(float const volatile*, double* const)",
    "_Z3fooIRiEvOT_": "foo<int&>(int&)",
    "_Z3fooIOiEvRT_": "foo<int&&>(int&)",
    "_Z3barDv4_f": "bar(float __vector(4))",
    # members, operators, lambdas, names of a file alone
    "_ZN1AIiEC1Ei": "A<int>::A(int)",
    "_ZN1AD2Ev": "A::~A()",
    "_ZNK1A3barEi": "A::bar(int) const",
    "_ZN1AplERKS_": "A::operator+(A const&)",
    "_ZN1AltIiEEbT_": "A::operator< <int>(int)",
    "_ZZ4mainENKUliE0_clEi": "main::{lambda(int)#2}::operator()(int) const",
    "_ZN12_GLOBAL__N_13fooEv": "(anonymous namespace)::foo()",
}


def _libstdcpp(name: str) -> str:
    """The spelling of the C++ library; without the library the test is skipped."""
    try:
        library = ctypes.CDLL("libstdc++.so.6")
    except OSError:
        pytest.skip("no libstdc++")
    library.__cxa_demangle.restype = ctypes.c_void_p
    status = ctypes.c_int()
    found = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    assert status.value == 0
    assert found
    text = ctypes.string_at(found).decode()
    ctypes.CDLL(None).free(ctypes.c_void_p(found))
    return text


@pytest.mark.parametrize(("name", "spelled"), NAMES.items(), ids=NAMES)
def test_names_are_spelled_as_by_the_library_of_cpp(name: str, spelled: str) -> None:
    """Except for the result type of a function, which libstdc++ puts before the names of templates."""
    assert demangle(name) == spelled
    theirs = _libstdcpp(name)
    assert theirs == spelled or theirs.endswith(f" {spelled}")


def test_namespaces_of_a_file_have_no_numbers() -> None:
    """nvcc makes one for each file, with a number."""
    name = "_ZN38_INTERNAL_4eb1e730_8_lines_cu_f8008f8640_GLOBAL__N__4eb1e730_8_lines_cu_f8008f864plusIfEET_S2_S2_"
    assert demangle(name) == "(anonymous namespace)::plus<float>(float, float)"


def test_parameters_belong_to_their_kernel() -> None:
    assert demangle("_Z5plainPf_param_1") == "parameter 1 of plain(float*)"
    assert demangle("plain_param_1") == "plain_param_1"


@pytest.mark.parametrize(
    "name",
    ["", "_", "_Z", "main", "rowmax", "_ZN", "_ZNE", "_Z3fo", "_Z99999999a", "_Z1fT_", "_Z1fS_", "_Z1fS9_", "_Z1fF",
     "_Z1fFE", "_Z1fILiE", "_Z1fILi1", "_Z1fA", "_Z1fAi", "_Z1fM", "_Z1fDv", "_Z1fDp", "_Z²a", "_Z1fv.", "_Zé", "$str",
     "__cuda_local_var_5", "_Z1fD9", "_ZZ1fE", "_ZUlvE", "_Z1fIXEE"],
)  # fmt: skip
def test_an_invalid_name_stays_as_it_is(name: str) -> None:
    assert demangle(name) == name


def test_a_mutated_name_is_demangled_or_unchanged_quickly() -> None:
    rng, names = random.Random(7), list(NAMES)
    start = time.perf_counter()
    for _ in range(8000):
        name = rng.choice(names)
        for _ in range(rng.randint(1, 4)):
            k = rng.randrange(2, len(name) + 1)
            name = rng.choice([name[:k] + rng.choice("STNEIJLXDPKRZ0149_vif") + name[k:], name[:k] + name[k + 1 :],
                               name[:k] + name[rng.randrange(2, len(name) + 1) :]])  # fmt: skip
        assert len(demangle(name)) <= 4 * LONGEST
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize(
    "name",
    ["_Z1f" + "P" * 4000 + "i", "_Z" + "N1aI" * 900, "_Z1fI" + "J" * 4000 + "E", "_Z1f" + "F" * 4000, "_ZZ" * 1300,
     "_Z" + "9" * 4000, "_Z1fN1aIiEE" + "".join(f"N1aIS{k}_S{k}_EE" for k in range(9)) * 30, "_Z1fI" + "L_Z1fI" * 600,
     "_Z1fIJ" + "i" * 250 + "EEv" + "DpT_" * 900, "_Z" + "Z1fIJ" * 20 + "T_T_E" * 20 + "i" * 40, "_Z" + "i" * 5000],
)  # fmt: skip
def test_a_hostile_name_is_demangled_quickly(name: str) -> None:
    start = time.perf_counter()
    demangle(name)
    assert time.perf_counter() - start < 0.5


def test_a_prefix_selects_the_kernels_that_begin_with_it() -> None:
    names = ["_ZN1a3sumIfEEvPT_", "_ZN1a3sumIfEEvPT_i", "_ZN1a3sumIdEEvPT_", "_ZN1a7sum_allEPf", "_ZN1b3maxEPf", "max"]
    assert called("a::sum<float>(float*)", names) == names[:1]
    assert called("sum<float>(float*,", names) == names[1:2]
    assert called("a :: sum < double", names) == names[2:3]
    assert called("sum", names) == names[:3]  # and not sum_all, which is another name
    assert called("sum_", names) == names[3:4]
    assert called("max", names) == names[5:]
    assert called("b::max", names) == names[4:5]
    assert called("b", names) == names[4:5]
    assert called("c", names) == called("ma", names[5:]) == []


def test_demangled_names_have_no_quotes() -> None:
    """Messages contain demangled names."""
    assert not any(re.search("['\"]", demangle(name)) for name in NAMES)
