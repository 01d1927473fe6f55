"""What the products, windows and linear algebra of Axle are in JAX."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from calls import C, F, I, V, call, definite, regular, unary, whole
from jax import lax


def window(reducer, init, sizes, strides, padding):
    return lambda x: lax.reduce_window(x, init, reducer, sizes, strides, padding)


def ragged_contracting(a, b, sizes):
    numbers = lax.RaggedDotDimensionNumbers(
        dot_dimension_numbers=(((0,), (0,)), ((), ())), lhs_ragged_dimensions=[0], rhs_group_dimensions=[]
    )
    return lax.ragged_dot_general(a, b, sizes, numbers)


def convolve(strides, padding, dims, **more):
    return lambda x, kernel: lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=dims, **more)


def einsum(spec, *operands, list_form=False, **more):
    """einsum of operands by their names, or of a list of them."""
    if list_form or len(operands) > 2:
        return call(lambda operands: jnp.einsum(spec, *operands), operands=list(operands), at={"spec": spec}, **more)
    names = dict(zip(("a", "b"), operands))
    return call(lambda *xs: jnp.einsum(spec, *xs), at={"spec": spec}, **names, **more)


EINSUMS = [
    einsum("btd,dnh->bnth", F(2, 3, 4), F(4, 2, 3)), einsum("bts->tb", F(2, 3, 4)),
    einsum("ij,jk", F(3, 4), F(4, 5)), einsum("ba", F(3, 4)), einsum("ii", F(3, 3)), einsum("ii->i", F(3, 3)), einsum("iij->ji", F(3, 3, 2)),
    einsum("iji->j", F(3, 2, 3)), einsum("iii", F(2, 2, 2)), einsum("iijj->ij", F(2, 2, 3, 3)), einsum("ii,ik->k", F(3, 3), F(3, 4)),
    einsum("i,i", F(4), F(4)), einsum("i,j", F(2), F(3)), einsum("...ij,...jk", F(2, 3, 4), F(4, 5)), einsum("...ij,...jk", F(2, 1, 3, 4), F(5, 4, 2)),
    einsum("...i->...", F(2, 3, 4)), einsum("i...->...i", F(2, 3, 4)), einsum("...ii->...i", F(2, 3, 3)), einsum("...,...", F(2, 3), F(3)),
    einsum("...", F(2, 3)), einsum("...i,...i->...", F(2, 1, 4), F(3, 4)), einsum("ij,jk,kl->il", F(2, 3), F(3, 4), F(4, 5)), einsum("ij,jk,kl", F(2, 3), F(3, 4), F(4, 5)),
    einsum("i,ij,j->", F(3), F(3, 4), F(4)), einsum("bi,bj,bk->bijk", F(2, 3), F(2, 2), F(2, 4)), einsum("...a,...b,abc->...c", F(2, 3), F(2, 4), F(3, 4, 5)),
    einsum("ab,bc,cd,de,ef->af", F(2, 3), F(3, 4), F(4, 2), F(2, 5), F(5, 3)), einsum("ii,jj,k->k", F(2, 2), F(3, 3), F(4)), einsum("i,j", F(2), F(3), list_form=True),
    einsum("ij,jk->ik", C(2, 3), C(3, 2)), einsum("ij,jk,kl->il", C(2, 3), C(3, 2), C(2, 2)), einsum("ij,jk,k->i", I(2, 3), I(3, 4), I(4)),
]  # fmt: skip

BATCHED = {"a_contracting": [2], "b_contracting": [1], "a_batch": [0], "b_batch": [0]}
# 16-bit products are summed in f32 and rounded once. A unit in the last place of the largest element.
HALVES = ((jnp.bfloat16, "bf16", "largest=8e-3"), (np.float16, "f16", "largest=1e-3"))


def batched_dot(dtype=np.float32, at=None, tol="", b_dtype=None, vjp=True, **options):
    """dot_general of [2, 3, 40] and [2, 40, 5]."""

    def fn(a, b):
        return lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))), **options)

    return call(fn, a=F(2, 3, 40, dtype=dtype), b=F(2, 40, 5, dtype=b_dtype or dtype), at=BATCHED | (at or {}), tol=tol, vjp=vjp)


def eigh_with_signs(x):
    """The eigenvectors with a first element that is not negative."""
    w, v = jnp.linalg.eigh(x)
    return w, v * jnp.sign(v[0])


EIGH_WITH_SIGNS = {
    "parameters": ["x"],
    "steps": {
        "found": {"function": "eigh", "operands": ["x"]},
        "first": {"function": "index_in_dim", "operands": ["found.1"], "attributes": {"axis": 0, "i": 0}},
        "signs": {"function": "sign", "operands": ["first"]},
        "vectors": {"function": "mul", "operands": ["found.1", "signs"]},
    },
    "results": ["found.0", "vectors"],
}


def symmetric(*eigenvalues):
    """A matrix with these eigenvalues. The first element of no eigenvector is near zero."""

    def make(rng):
        n = len(eigenvalues)
        while True:
            q = np.linalg.qr(rng.standard_normal((n, n)))[0]
            if np.abs(q[0]).min() > 0.5 / n:
                return ((q * eigenvalues) @ q.T).astype(np.float32)

    return make


def sizes(*of_seed):
    """Sizes of groups that differ between the examples of a batch."""
    return lambda rng: np.asarray(of_seed[rng.integers(len(of_seed))], np.int32)


GROUPS = sizes([3, 0, 4], [2, 2, 1], [0, 7, 0], [4, 9, 3])


# Products of 4-bit integers, which files of tensors do not hold.
FOUR_BITS = [
    call(
        lambda a, b, dtype=dtype: lax.dot(a.astype(dtype), b.astype(dtype)).astype(np.int8),
        a=I(4, 3, low=-8, high=16, dtype=np.int8), b=I(3, 5, low=-8, high=16, dtype=np.int8), vjp=False, tol="bitwise",
        steps={
            "parameters": ["a", "b"],
            "steps": {
                "x": {"function": "astype", "operands": ["a"], "attributes": {"dtype": name}},
                "y": {"function": "astype", "operands": ["b"], "attributes": {"dtype": name}},
                "product": {"function": "dot", "operands": ["x", "y"]},
                "wide": {"function": "astype", "operands": ["product"], "attributes": {"dtype": "i8"}},
            },
        },
    )
    for name, dtype in (("i4", jnp.int4), ("u4", jnp.uint4))
]  # fmt: skip

CALLS = {
    "dot_general": [batched_dot()]
    + [batched_dot(precision=p, at={"precision": name}) for p, name in ((lax.Precision.DEFAULT, "default"), (lax.Precision.HIGH, "high"), (lax.Precision.HIGHEST, "highest"))]
    + [batched_dot(dtype, tol=tol) for dtype, name, tol in HALVES]
    + [batched_dot(dtype, {"result_dtype": "f32"}, tol, preferred_element_type=np.float32) for dtype, name, tol in HALVES]
    + [batched_dot(np.float64, {"precision": "highest"}, "1e-13", precision="highest")]
    + [batched_dot(np.int8, {"result_dtype": "i32"}, preferred_element_type=np.int32)]
    + [batched_dot(jnp.float8_e4m3fn, {"result_dtype": "f32"}, vjp=False, preferred_element_type=np.float32, b_dtype=jnp.float8_e5m2)]
    + [batched_dot(at={"algorithm": name}, precision=lax.DotAlgorithmPreset[name]) for name in ("F32_F32_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6")]
    + [batched_dot(jnp.bfloat16, {"algorithm": "BF16_BF16_F32", "result_dtype": "f32"}, "largest=8e-3", precision=lax.DotAlgorithmPreset.BF16_BF16_F32, preferred_element_type=np.float32)],
    "dot": FOUR_BITS + [call(jnp.matmul, a=F(3, 4), b=F(4, 5)), call(jnp.matmul, a=C(3, 4), b=C(4, 2)), call(lambda a, b: jnp.matmul(a, b), a=I(3, 4), b=I(4, 2))]
    + [call(jnp.matmul, a=F(3, 40, dtype=dtype), b=F(40, 5, dtype=dtype), tol=tol) for dtype, name, tol in HALVES]
    + [call(lambda a, b: jnp.matmul(a, b, preferred_element_type=np.float32), a=F(3, 40, dtype=dtype), b=F(40, 5, dtype=dtype), at={"result_dtype": "f32"}, tol=tol) for dtype, name, tol in HALVES],
    "einsum": EINSUMS,
    "contract": [call(lambda a, b: jnp.einsum("ij,jk->ki", a, b), a=F(3, 4), b=F(4, 5), at={"a_labels": [0, 1], "b_labels": [1, 2], "out": [2, 0]})],
    "outer": [call(jnp.outer, a=F(3), b=F(4))],
    "kron": [call(jnp.kron, a=F(2, 3), b=F(3, 2))],
    "ragged_dot": [call(lax.ragged_dot, lhs=F(7, 4), rhs=F(3, 4, 5), group_sizes=V([3, 0, 4], np.int32)), call(lax.ragged_dot, lhs=F(7, 4), rhs=F(3, 4, 5), group_sizes=GROUPS)]
    + [call(lax.ragged_dot, lhs=F(7, 4, dtype=dtype), rhs=F(3, 4, 5, dtype=dtype), group_sizes=GROUPS, tol=tol) for dtype, name, tol in HALVES],
    "ragged_dot_contracting": [call(ragged_contracting, lhs=F(7, 4), rhs=F(7, 5), group_sizes=sizes, vjp=False) for sizes in (V([3, 0, 4], np.int32), GROUPS)],
    "fft": unary(jnp.fft.fft, C(3, 8)) + unary(jnp.fft.fft2, C(3, 4), at={"num_dims": 2}),
    "ifft": unary(jnp.fft.ifft, C(3, 8)),
    "rfft": unary(jnp.fft.rfft, F(3, 8)) + unary(jnp.fft.rfft, F(3, 7)),
    "irfft": unary(jnp.fft.irfft, C(3, 5)) + unary(lambda x: jnp.fft.irfft(x, 9), C(3, 5), at={"size": 9}),
    "convolution": [
        call(convolve((2,), [(2, 1)], ("NWC", "WIO", "NWC"), rhs_dilation=(2,)), x=F(2, 9, 3), kernel=F(3, 3, 4), at={"strides": [2], "padding": [[2, 1]], "kernel_dilation": [2]}),
        call(convolve((1, 2), "SAME", ("NHWC", "HWIO", "NHWC"), feature_group_count=2), x=F(2, 5, 6, 4), kernel=F(3, 3, 2, 4), at={"strides": [1, 2], "padding": "same", "feature_groups": 2}),
        call(convolve((1,), [(2, 2)], ("NCW", "OIW", "NCW"), lhs_dilation=(2,)), x=F(2, 3, 5), kernel=F(4, 3, 3), at={"padding": [[2, 2]], "input_dilation": [2], "x_layout": "NCW", "kernel_layout": "OIW", "y_layout": "NCW"}),
        call(convolve((1,), [(1, 1)], ("NWC", "WIO", "NWC"), batch_group_count=2), x=F(4, 7, 3), kernel=F(3, 3, 4), at={"padding": [[1, 1]], "batch_groups": 2}),
        call(convolve((2, 1), "VALID", ("NHWC", "HWIO", "NHWC"), batch_group_count=3, rhs_dilation=(1, 2)), x=F(6, 5, 6, 2), kernel=F(2, 3, 2, 6), at={"strides": [2, 1], "kernel_dilation": [1, 2], "batch_groups": 3}),
        call(convolve((1,), "SAME", ("NWC", "WIO", "NWC"), preferred_element_type=np.float32), x=F(2, 9, 3, dtype=jnp.bfloat16), kernel=F(3, 3, 4, dtype=jnp.bfloat16), at={"padding": "same", "result_dtype": "f32"}, tol="largest=8e-3"),
    ],
    "max_pool": unary(window(lax.max, -np.inf, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), F(1, 4, 6, 2), at={"window": [2, 2], "strides": [2, 2]}),
    "min_pool": unary(window(lax.min, np.inf, (1, 2, 2, 1), (1, 1, 1, 1), "VALID"), F(1, 4, 6, 2), at={"window": [2, 2]}),
    "avg_pool": unary(lambda x: window(lax.add, 0.0, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")(x) / 4, F(1, 4, 6, 2), at={"window": [2, 2], "strides": [2, 2]}),
    "reduce_window_sum": unary(window(lax.add, 0.0, (1, 3), (1, 2), "SAME"), F(3, 8), at={"sizes": [1, 3], "strides": [1, 2], "padding": "same"}),
    "reduce_window_max": unary(window(lax.max, -np.inf, (2, 3), (1, 2), [(1, 0), (1, 1)]), F(3, 8), at={"sizes": [2, 3], "strides": [1, 2], "padding": [[1, 0], [1, 1]]}),
    "reduce_window_min": unary(window(lax.min, np.inf, (2, 3), (1, 2), "VALID"), F(3, 8), at={"sizes": [2, 3], "strides": [1, 2]}),
    # linear algebra
    "cholesky": unary(jnp.linalg.cholesky, definite(4), tol="1e-4"),
    "eigh": [call(eigh_with_signs, x=symmetric(*w), steps=EIGH_WITH_SIGNS, tol="1e-4") for w in ((-2, -0.5, 1, 3), (0.1, 0.7, 1.5, 2, 4), (1,))]
    + unary(lambda x: jnp.linalg.eigvalsh(x), definite(4), vjp=False, tol="1e-4"),
    "qr": unary(jnp.linalg.qr, regular(4), tol="1e-4"),
    "vector_norm": unary(jnp.linalg.norm, F(7), tol="1e-5")
    + [c for p in (1, 2, 3, 0.5, -1.5, np.inf, -np.inf) for c in unary(lambda x, p=p: jnp.linalg.vector_norm(x, ord=p, axis=1), at={"p": str(p), "axes": [1]}, tol="1e-5")]
    + unary(lambda x: jnp.linalg.vector_norm(x, ord=0, axis=1), whole(3, 4), at={"p": 0, "axes": [1]}, vjp=False)
    + unary(lambda x: jnp.linalg.vector_norm(x, axis=(0, 2), keepdims=True), C(2, 3, 4), at={"axes": [0, 2], "keep_dims": True}, vjp=False, tol="1e-5"),
    "matrix_norm": unary(jnp.linalg.norm) + unary(lambda x: jnp.linalg.norm(x, 1), at={"norm": "one"}) + unary(lambda x: jnp.linalg.norm(x, np.inf), at={"norm": "infinity"}) + unary(lambda x: jnp.linalg.norm(x, 2), at={"norm": "two"}, tol="1e-4"),
    "solve": [call(jnp.linalg.solve, a=regular(4), b=F(4, 2), tol="1e-4")],
    "cho_solve": [call(lambda l, b: jsp.linalg.cho_solve((jnp.tril(l), True), b), l=regular(4), b=F(4, 2), tol="1e-4")],
    "inverse": unary(jnp.linalg.inv, regular(4), tol="1e-4"),
    "triangular_solve": [call(lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True), a=regular(4), b=F(4, 2)),
                         call(lambda a, b: lax.linalg.triangular_solve(a, b, left_side=False, lower=False, transpose_a=True), a=regular(4), b=F(2, 4), at={"left_side": False, "lower": False, "transpose": True})],
}  # fmt: skip
