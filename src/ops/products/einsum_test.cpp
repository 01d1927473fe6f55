#include "ops/products/einsum.h"

#include <map>

#include "base/error.h"
#include "ops/create.h"
#include "ops/products/dot.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::counting;
using testing::run;

// Computes an einsum by its definition: loops over all letters and adds up.
HostTensor by_definition(const std::string& a, const std::string& b, const std::string& y,
                         const HostTensor& x0, const HostTensor& x1) {
  std::map<char, int64_t> size;
  for (size_t i = 0; i < a.size(); ++i) size[a[i]] = x0.shape()[i];
  for (size_t i = 0; i < b.size(); ++i) size[b[i]] = x1.shape()[i];
  Shape shape;
  for (const char c : y) shape.push_back(size.at(c));
  HostTensor out(Type{DType::kF64, shape});
  std::map<char, int64_t> index;
  const auto offset = [&](const std::string& term) {
    int64_t at = 0;
    for (const char c : term) at = at * size.at(c) + index.at(c);
    return at;
  };
  const std::function<void(std::map<char, int64_t>::iterator)> walk = [&](auto letter) {
    if (letter == size.end()) {
      out.values<double>()[static_cast<size_t>(offset(y))] += x0.at(offset(a)) * x1.at(offset(b));
      return;
    }
    for (int64_t i = 0; i < letter->second; ++i) {
      index[letter->first] = i;
      walk(std::next(letter));
    }
  };
  walk(size.begin());
  return out;
}

TEST(Einsum, AgreesWithItsDefinition) {
  struct Case {
    std::string a, b, y;
  };
  const std::map<char, int64_t> sizes{{'b', 2}, {'t', 3}, {'s', 4}, {'n', 2},
                                      {'h', 5}, {'d', 3}, {'k', 2}};
  for (const Case& c : {Case{"btd", "dnh", "btnh"},
                        {"btnh", "bsnh", "bnts"},
                        {"bnts", "bsnh", "btnh"},
                        {"btnh", "dnh", "btd"},
                        {"bd", "td", "tb"},
                        {"bt", "bt", "bt"},
                        {"b", "t", "bt"},
                        {"bt", "bt", ""},
                        {"bts", "sd", "bd"},
                        {"btkh", "bskh", "bkst"},
                        {"dt", "bd", "bt"}}) {
    Shape sa, sb;
    for (const char l : c.a) sa.push_back(sizes.at(l));
    for (const char l : c.b) sb.push_back(sizes.at(l));
    const HostTensor x0 = counting(sa), x1 = counting(sb);
    const std::string spec = c.a + "," + c.b + "->" + c.y;
    const HostTensor got = run([&](const Values& v) { return einsum(spec, v[0], v[1]); }, {x0, x1});
    EXPECT_EQ(got.astype(DType::kF64), by_definition(c.a, c.b, c.y, x0, x1)) << spec;
  }
}

TEST(Einsum, EllipsisStandsForLeadingDims) {
  const HostTensor x = counting({2, 3, 4}), w = counting({4, 5});
  const HostTensor expected = by_definition("btd", "dh", "bth", x, w);
  EXPECT_EQ(run([](const Values& v) { return einsum("...d,dh->...h", v[0], v[1]); }, {x, w})
                .astype(DType::kF64),
            expected);
}

TEST(Einsum, OneOperandIsSummedAndTransposed) {
  const HostTensor x = counting({2, 3});
  EXPECT_EQ(run([](const Values& v) { return einsum("ij->ji", v[0]); }, {x}),
            HostTensor({3, 2}, {0.f, 3.f, 1.f, 4.f, 2.f, 5.f}));
  EXPECT_EQ(run([](const Values& v) { return einsum("ij->j", v[0]); }, {x}),
            HostTensor({3}, {3.f, 5.f, 7.f}));
}

// einsum swaps its operands if that avoids a transpose of the result.
TEST(Einsum, AvoidsTransposes) {
  Region region;
  const TraceScope scope(region);
  const auto last_op = [](const Tensor& t) { return t.node()->rules->name(); };
  EXPECT_EQ(last_op(einsum("btd,dnh->btnh", zeros({2, 3, 4}), zeros({4, 2, 5}))), "dot_general");
  EXPECT_EQ(last_op(einsum("bd,td->tb", zeros({2, 4}), zeros({3, 4}))), "dot_general");
  EXPECT_EQ(last_op(einsum("bnts,bsnh->btnh", zeros({2, 2, 3, 4}), zeros({2, 4, 2, 5}))),
            "transpose");
}

TEST(Einsum, BadSpecsAreErrors) {
  Region region;
  const TraceScope scope(region);
  const Tensor x = zeros({2, 3}), w = zeros({3, 4});
  EXPECT_THROW(einsum("ij,jk", x, w), ShapeError);
  EXPECT_THROW(einsum("ijl,jk->ik", x, w), ShapeError);
  EXPECT_THROW(einsum("ii,ik->ik", x, w), ShapeError);
  EXPECT_THROW(einsum("ij,jk->iz", x, w), ShapeError);
  EXPECT_THROW(einsum("ij,ik->jk", x, w), ShapeError);
  EXPECT_THROW(einsum("i1,jk->ik", x, w), ShapeError);
  EXPECT_THROW(einsum("ij->i", x, w), ShapeError);
}

}  // namespace
}  // namespace axle
