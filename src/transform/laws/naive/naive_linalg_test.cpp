// References of the decompositions of matrices, for each matrix of a batch.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "transform/laws/naive_test.h"

namespace axle::testing {
namespace {

using NaiveLinalgReal = long double;

struct Matrix {
  size_t rows, columns;
  std::vector<NaiveLinalgReal> v;
  Matrix(size_t m, size_t n) : rows(m), columns(n), v(m * n, 0) {}
  NaiveLinalgReal& operator()(size_t i, size_t j) { return v[i * columns + j]; }
  NaiveLinalgReal operator()(size_t i, size_t j) const { return v[i * columns + j]; }
};
Matrix unit(size_t n) {
  Matrix out(n, n);
  for (size_t i = 0; i < n; ++i) out(i, i) = 1;
  return out;
}
Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix out(a.rows, b.columns);
  for (size_t i = 0; i < a.rows; ++i) {
    for (size_t j = 0; j < b.columns; ++j) {
      for (size_t k = 0; k < a.columns; ++k) out(i, j) += a(i, k) * b(k, j);
    }
  }
  return out;
}

Matrix matrix_at(const Naive& x, size_t batch) {
  Matrix out(static_cast<size_t>(x.dim(-2)), static_cast<size_t>(x.dim(-1)));
  std::copy_n(x.re.begin() + static_cast<ptrdiff_t>(batch * out.v.size()), out.v.size(),
              out.v.begin());
  return out;
}
void naive_linalg_put(Naive& y, size_t batch, const std::vector<NaiveLinalgReal>& v) {
  std::ranges::copy(v, y.re.begin() + static_cast<ptrdiff_t>(batch * v.size()));
}
size_t batch_of(const Naive& x) {
  size_t out = 1;
  for (int64_t d = 0; d < x.type.rank() - 2; ++d) out *= static_cast<size_t>(x.dim(d));
  return out;
}

Naives cholesky(const NaiveCall& c) {
  Naive y(c.result());
  for (size_t b = 0; b < batch_of(y); ++b) {
    const Matrix a = matrix_at(c.x[0], b);
    Matrix l(a.rows, a.rows);
    for (size_t j = 0; j < a.rows; ++j) {
      for (size_t i = j; i < a.rows; ++i) {
        NaiveLinalgReal rest = a(i, j);
        for (size_t k = 0; k < j; ++k) rest -= l(i, k) * l(j, k);
        l(i, j) = i == j ? std::sqrt(rest) : rest / l(j, j);
      }
    }
    naive_linalg_put(y, b, l.v);
  }
  return {y};
}

// Takes out the matrix that the options name, and solves by Gauss-Jordan elimination.
Naives triangular_solve(const NaiveCall& c) {
  const auto is = [&](std::string_view key) { return c.attrs.value(key) == "true"; };
  Naive y(c.result());
  for (size_t batch = 0; batch < batch_of(y); ++batch) {
    const Matrix given = matrix_at(c.x[0], batch);
    Matrix x = matrix_at(c.x[1], batch), a(given.rows, given.rows);
    const size_t n = a.rows;
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        const bool inside = is("lower") ? j <= i : j >= i;
        const NaiveLinalgReal v = i == j && is("unit_diagonal") ? 1 : inside ? given(i, j) : 0;
        (is("transpose") ? a(j, i) : a(i, j)) = v;
      }
    }
    for (size_t p = 0; p < n; ++p) {
      for (size_t i = 0; i < n; ++i) {
        if (i == p) continue;
        const NaiveLinalgReal factor = a(i, p) / a(p, p);
        for (size_t j = 0; j < n; ++j) a(i, j) -= factor * a(p, j);
        for (size_t j = 0; j < x.columns; ++j) x(i, j) -= factor * x(p, j);
      }
    }
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < x.columns; ++j) x(i, j) /= a(i, i);
    }
    naive_linalg_put(y, batch, x.v);
  }
  return {y};
}

// Reflects each column onto its diagonal element, with whole matrices. The element gets the other
// sign; what is on the diagonal already stays.
Naives qr(const NaiveCall& c) {
  Naive q(c.result(0)), r(c.result(1));
  for (size_t b = 0; b < batch_of(c.x[0]); ++b) {
    Matrix a = matrix_at(c.x[0], b), all = unit(a.rows);
    const size_t m = a.rows, k = std::min(m, a.columns);
    for (size_t j = 0; j < k; ++j) {
      std::vector<NaiveLinalgReal> v(m, 0);
      NaiveLinalgReal below = 0;
      for (size_t i = j; i < m; ++i) {
        v[i] = a(i, j);
        if (i > j) below += v[i] * v[i];
      }
      if (below == 0) continue;
      v[j] += std::copysign(std::sqrt(below + v[j] * v[j]), v[j]);
      NaiveLinalgReal square = 0;
      for (const NaiveLinalgReal e : v) square += e * e;
      Matrix h = unit(m);
      for (size_t i = 0; i < m; ++i) {
        for (size_t i2 = 0; i2 < m; ++i2) h(i, i2) -= 2 * v[i] * v[i2] / square;
      }
      a = h * a;
      all = all * h;
    }
    Matrix own_q(m, k), own_r(k, a.columns);
    for (size_t i = 0; i < m; ++i) {
      for (size_t j = 0; j < k; ++j) own_q(i, j) = all(i, j);
    }
    for (size_t i = 0; i < k; ++i) {
      for (size_t j = i; j < a.columns; ++j) own_r(i, j) = a(i, j);
    }
    naive_linalg_put(q, b, own_q.v);
    naive_linalg_put(r, b, own_r.v);
  }
  return {q, r};
}

// Jacobi's classical method: each rotation removes the largest element off the diagonal. The law
// compares the vectors up to their signs.
Naives eigh(const NaiveCall& c) {
  Naive w(c.result(0)), vectors(c.result(1));
  for (size_t b = 0; b < batch_of(c.x[0]); ++b) {
    Matrix a = matrix_at(c.x[0], b), v = unit(a.rows);
    const size_t n = a.rows;
    for (int rotation = 0; rotation < 300 && n > 1; ++rotation) {
      size_t p = 0, q = 1;
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = i + 1; j < n; ++j) {
          if (std::abs(a(i, j)) > std::abs(a(p, q))) std::tie(p, q) = std::pair(i, j);
        }
      }
      const NaiveLinalgReal angle = std::atan2(2 * a(p, q), a(q, q) - a(p, p)) / 2;
      Matrix turn = unit(n), back = unit(n);
      turn(p, p) = turn(q, q) = back(p, p) = back(q, q) = std::cos(angle);
      turn(p, q) = back(q, p) = std::sin(angle);
      turn(q, p) = back(p, q) = -std::sin(angle);
      a = back * a * turn;
      v = v * turn;
    }
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, [&](size_t i, size_t j) { return a(i, i) < a(j, j); });
    Matrix sorted(n, n);
    std::vector<NaiveLinalgReal> values;
    for (size_t j = 0; j < n; ++j) {
      values.push_back(a(order[j], order[j]));
      for (size_t i = 0; i < n; ++i) sorted(i, j) = v(i, order[j]);
    }
    naive_linalg_put(w, b, values);
    naive_linalg_put(vectors, b, sorted.v);
  }
  return {w, vectors};
}

}  // namespace

void add_linalg_references(References& out) {
  out["cholesky"] = cholesky;
  out["triangular_solve"] = triangular_solve;
  out["qr"] = qr;
  out["eigh"] = eigh;
}

}  // namespace axle::testing
