#include <map>

#include "base/error.h"
#include "ops/create.h"
#include "ops/products/products.h"
#include "testing/error_of.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::counting;
using testing::run;

// Computes an einsum by its definition: loops over all letters and adds up.
HostTensor by_definition(const std::vector<std::string>& terms, const std::string& y,
                         const std::vector<HostTensor>& x) {
  std::map<char, int64_t> size;
  for (size_t t = 0; t < terms.size(); ++t) {
    for (size_t i = 0; i < terms[t].size(); ++i) size[terms[t][i]] = x[t].shape()[i];
  }
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
      double product = 1;
      for (size_t t = 0; t < terms.size(); ++t) product *= x[t].at(offset(terms[t]));
      out.values<double>()[offset(y)] += product;
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
HostTensor by_definition(const std::string& a, const std::string& b, const std::string& y,
                         const HostTensor& x0, const HostTensor& x1) {
  return by_definition({a, b}, y, {x0, x1});
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

TEST(Einsum, EllipsisMatchesLeadingDims) {
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

// Terms and result without "...", and the spec that says the same.
struct LongCase {
  std::vector<std::string> terms;
  std::string y;
  std::string spec;
};
const std::map<char, int64_t> kSizes{{'a', 2}, {'b', 3}, {'c', 4}, {'d', 2}, {'e', 3}, {'f', 2},
                                     {'g', 3}, {'h', 2}, {'i', 3}, {'j', 2}, {'A', 2}};
const std::vector<LongCase> kLongCases = {
    {{"aa"}, "a", "aa->a"},
    {{"aa"}, "", "aa"},
    {{"aa"}, "", "aa->"},
    {{"aba"}, "b", "aba->b"},
    {{"aba"}, "b", "aba"},
    {{"abba"}, "ab", "abba->ab"},
    {{"aaa"}, "a", "aaa->a"},
    {{"aabb"}, "ba", "aabb->ba"},
    {{"ba"}, "ab", "ba"},
    {{"aA"}, "Aa", "aA"},
    {{"cab"},
     "cab",
     "c..."
     "->c..."},
    {{"cab"}, "abc", "c...->...c"},
    {{"cab"}, "c", "c...->c"},
    {{"baa"}, "ba", "...aa->...a"},
    {{"baa"}, "b", "...aa"},
    {{"ab", "bc"}, "ac", "ab,bc"},
    {{"b", "b"}, "", "b,b"},
    {{"b", "a"}, "ab", "b,a"},
    {{"aab", "bc"}, "ac", "aab,bc->ac"},
    {{"aa", "bb"}, "ab", "aa,bb->ab"},
    {{"aa", "bb"}, "", "aa,bb"},
    {{"eab", "ebc"}, "eac", "...ab,...bc"},
    {{"eab", "bc"}, "eac", "...ab,...bc"},
    {{"ab", "fegbc"}, "fegac", "...ab,...bc"},
    {{"ab", "bc", "cd"}, "ad", "ab,bc,cd->ad"},
    {{"ab", "bc", "cd"}, "ad", "ab,bc,cd"},
    {{"a", "ab", "b"}, "", "a,ab,b"},
    {{"ab", "ac", "ad"}, "abcd", "ab,ac,ad->abcd"},
    {{"ab", "ab", "ab"}, "ba", "ab,ab,ab->ba"},
    {{"ea", "eb", "abc"}, "ec", "...a,...b,abc->...c"},
    {{"aa", "b", "bb"}, "b", "aa,b,bb->b"},
    {{"ab", "bc", "cd", "de", "ef"}, "fa", "ab,bc,cd,de,ef->fa"},
    {{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}, "", "a,b,c,d,e,f,g,h,i,j->"},
    {{"ab", "bc", "cd", "de", "ef", "fg", "gh", "hi", "ij", "ja"},
     "a",
     "ab,bc,cd,de,ef,fg,gh,hi,ij,ja->a"},
    {{"", "ab", ""}, "ab", ",ab,"},
};

Shape shape_of(const std::string& term) {
  Shape out;
  for (const char c : term) out.push_back(kSizes.at(c));
  return out;
}
// Small whole numbers, so that every order of the sums gives the same.
HostTensor small_numbers(const Shape& shape, int64_t seed) {
  HostTensor out(Type{DType::kF32, shape});
  for (int64_t i = 0; i < out.size(); ++i)
    out.values<float>()[i] = static_cast<float>((i * 7 + seed * 5) % 4 - 1);
  return out;
}

TEST(Einsum, AnyNumberOfOperandsAgreesWithTheDefinition) {
  for (const LongCase& c : kLongCases) {
    std::vector<HostTensor> x;
    for (const std::string& term : c.terms)
      x.push_back(small_numbers(shape_of(term), std::ssize(x)));
    const HostTensor got = run([&](const Values& v) { return einsum(c.spec, v); }, x);
    EXPECT_EQ(got.astype(DType::kF64), by_definition(c.terms, c.y, x)) << c.spec;
  }
}

// A size of 1 in "..." is repeated; if all sizes are 1, the dim stays.
TEST(Einsum, EllipsisRepeatsSizesOfOne) {
  const HostTensor x = counting({2, 1, 3}), w = counting({4, 3});
  const auto product = [&](const std::string& spec, const HostTensor& a, const HostTensor& b) {
    return run([&](const Values& v) { return einsum(spec, v[0], v[1]); }, {a, b});
  };
  const HostTensor y = product("...d,...d->...", x, w);
  EXPECT_EQ(y.astype(DType::kF64), by_definition("bd", "td", "bt", x.reshaped({2, 3}), w));
  EXPECT_EQ(product("...d,...d", x, counting({1, 3})).shape(), (Shape{2, 1}));
  EXPECT_EQ(product("...d,...d->d...", w, x).shape(), (Shape{3, 2, 4}));
  EXPECT_EQ(product("...d,...d->d", w, x).shape(), (Shape{3}));
  EXPECT_EQ(
      run([](const Values& v) { return einsum("...d,...d,...->d", v); }, {x, w, counting({4})})
          .shape(),
      (Shape{3}));
}

// The order of the fewest multiplications: of a chain of matrices and a vector, the vector first.
TEST(Einsum, MultipliesInTheCheapestOrder) {
  const auto largest = [](const std::string& spec, const std::vector<Shape>& shapes) {
    Region region;
    const TraceScope scope(region);
    Values operands;
    for (const Shape& shape : shapes)
      operands.push_back(region.add_parameter({DType::kF32, shape}));
    einsum(spec, operands);
    int64_t out = 0;
    for (const OpNode* op : region.ops()) out = std::max(out, op->outputs[0].num_elements());
    return out;
  };
  EXPECT_EQ(largest("ij,jk,kl,l->i", {{50, 50}, {50, 50}, {50, 50}, {50}}), 50);
  EXPECT_EQ(largest("i,ij,jk,kl->l", {{50}, {50, 50}, {50, 50}, {50, 50}}), 50);
  EXPECT_EQ(largest("ij,kl,jk->il", {{2, 50}, {50, 2}, {50, 50}}), 100);
  EXPECT_EQ(largest("i,j,k,ijk->", {{20}, {20}, {20}, {20, 20, 20}}), 400);
  std::vector<Shape> chain(10, Shape{50, 50});
  chain.push_back({50});
  EXPECT_EQ(largest("ab,bc,cd,de,ef,fg,gh,hi,ij,jk,k->a", chain), 50);
}

TEST(Einsum, ProductsBetweenHaveTheWiderDtype) {
  const auto dtypes = [](DType operand, std::optional<DType> result) {
    Region region;
    const TraceScope scope(region);
    const Tensor x = region.add_parameter({operand, {3, 3}});
    einsum("ij,jk,kl->il", {x, x, x}, {.result_dtype = result});
    std::string out;
    for (const OpNode* op : region.ops()) {
      if (op->rules->name() == "dot_general")
        out += std::string(name_of(op->outputs[0].dtype)) + " ";
    }
    return out;
  };
  EXPECT_EQ(dtypes(DType::kBF16, {}), "bf16 bf16 ");
  EXPECT_EQ(dtypes(DType::kBF16, DType::kF32), "f32 f32 ");
  EXPECT_EQ(dtypes(DType::kF32, DType::kBF16), "f32 bf16 ");
  EXPECT_EQ(dtypes(DType::kI8, DType::kI32), "i32 i32 ");
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
  EXPECT_THROW(einsum("ijl,jk->ik", x, w), ShapeError);
  EXPECT_THROW(einsum("", Values{}), ShapeError);
  EXPECT_THROW(einsum("ij,jk->ii", x, w), ShapeError);
  EXPECT_THROW(einsum("i......j,jk->ik", x, w), ShapeError);
  EXPECT_THROW(einsum("ij->->i", x), ShapeError);
  EXPECT_THROW(einsum("ij,jk,", x, w), ShapeError);
  EXPECT_THROW(einsum("ii,ik->ik", x, w), ShapeError);
  EXPECT_THROW(einsum("ij,jk->iz", x, w), ShapeError);
  EXPECT_THROW(einsum("ij,ik->jk", x, w), ShapeError);
  EXPECT_THROW(einsum("i1,jk->ik", x, w), ShapeError);
  // A whole character of UTF-8.
  EXPECT_NE(error_of<ShapeError>([&] {
              einsum("\u00e9j,jk->ik", x, w);
            }).find("expected letters or '...' in '\u00e9j', got '\u00e9'"),
            std::string::npos);
  EXPECT_THROW(einsum("ij->i", x, w), ShapeError);
  std::string many = "ij";
  for (int i = 1; i < 129; ++i) many += ",ij";
  EXPECT_NE(error_of<ShapeError>([&] {
              einsum(many, Values(129, x));
            }).find("expected at most 128 operands, got 129"),
            std::string::npos);
}

}  // namespace
}  // namespace axle
