// Rows of transform/linalg.
#include "functions/function.h"
#include "transform/transform.h"

namespace axle {
namespace {

std::vector<Function> linalg_rows() {
  return {function("cholesky(x)", cholesky),
          function("eigh(x)", eigh),
          function("qr(x)", qr),
          function("vector_norm(x, axes=[-1], p=2, keep_dims=false)", vector_norm),
          function("matrix_norm(x, norm=frobenius)", matrix_norm),
          function("solve(a, b)", solve),
          function("cho_solve(l, b)", cho_solve),
          function("inverse(x)", inverse),
          function("triangular_solve(a, b, options)", triangular_solve)};
}

const FunctionFamily kLinalg(linalg_rows);

}  // namespace
}  // namespace axle
