#include "interop/foreign/weight_map.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "base/error.h"
#include "interop/foreign/safetensors_folder.h"
#include "io/safetensors.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

// Reads the tensors of a folder whole.
class WholeTensors final : public TensorSource {
 public:
  explicit WholeTensors(const SafetensorsFolder& folder) : folder_(folder) {}
  std::vector<std::string> names() const override { return folder_.names(); }
  Type type(const std::string& name) const override { return folder_.type(name); }
  HostTensor get(const std::string& name) const override { return folder_.get(name); }
  const std::string& where() const override { return folder_.where(); }

 private:
  const SafetensorsFolder& folder_;
};

// Numbers that are all different, and exact in bf16 within 256 of them.
HostTensor counted(Shape shape, int64_t first) {
  HostTensor out(Type{DType::kF32, std::move(shape)});
  int64_t i = first;
  for (float& value : out.values<float>()) value = static_cast<float>(i++ % 8191);
  return out;
}

// Tensors of several pieces: rows of 4 kB and more, a megabyte and more of each.
constexpr int64_t kIn = 1000, kOut = 900;
class LargeTensors : public ::testing::Test {
 protected:
  LargeTensors() {
    for (const char* layer : {"0", "1"}) {
      const int64_t first = layer[0] - '0';
      tensors_[std::string("l.") + layer + ".up"] = counted({kOut, kIn}, first);
      tensors_[std::string("l.") + layer + ".fused"] = counted({2 * kOut, kIn}, 7 + first);
      tensors_[std::string("l.") + layer + ".side"] = counted({kIn, 3 * kOut}, 11 + first);
    }
    tensors_["emb"] = counted({kOut, kIn}, 3);
    tensors_["bias"] = counted({1 << 19}, 5);
    for (const char* name : {"x/up", "x/a", "x/b"})
      specs_[name] = {.shape = {2, kIn, kOut}, .dtype = DType::kF32};
    for (const char* name : {"x/c", "x/d", "x/e"})
      specs_[name] = {.shape = {2, kIn, kOut}, .dtype = DType::kF32};
    specs_["emb"] = {.shape = {kOut, kIn}, .dtype = DType::kF32};
    specs_["bias"] = {.shape = {1 << 19}, .dtype = DType::kF32};
    const auto row = [&](const char* ours, const char* theirs, Storage storage) {
      rows_.push_back({.ours = ours, .theirs = theirs, .storage = storage});
    };
    row("x/up", "l.{layer}.up", Storage::kTransposed);
    row("x/a", "l.{layer}.fused", Storage::kTransposed);
    row("x/b", "l.{layer}.fused", Storage::kTransposed);
    for (const char* name : {"x/c", "x/d", "x/e"}) row(name, "l.{layer}.side", Storage::kSame);
    row("emb", "emb", Storage::kSame);
    row("bias", "bias", Storage::kVector);
  }
  // Calls f with the folder, and with a source of the same tensors that reads them whole.
  template <class F>
  void with_sources(F f) {
    save_safetensors(dir_ / "model.safetensors", tensors_);
    const SafetensorsFolder folder(dir_.path());
    ASSERT_TRUE(folder.reads_parts("emb"));
    f(folder);
    const WholeTensors whole(folder);
    ASSERT_FALSE(whole.reads_parts("emb"));
    f(whole);
  }

  TempDir dir_;
  Tree<HostTensor> tensors_;
  std::vector<WeightRow> rows_;
  Tree<ParamSpec> specs_;
};

TEST_F(LargeTensors, AreReadPieceByPiece) {
  with_sources([&](const TensorSource& source) {
    const Tree<HostTensor> out = WeightMap(rows_, specs_).read(source);
    EXPECT_EQ(out.at("emb"), tensors_.at("emb"));
    EXPECT_EQ(out.at("bias"), tensors_.at("bias"));
    for (int64_t layer = 0; layer < 2; ++layer) {
      const std::string prefix = "l." + std::to_string(layer) + ".";
      const auto up = tensors_.at(prefix + "up").values<float>(),
                 fused = tensors_.at(prefix + "fused").values<float>(),
                 side = tensors_.at(prefix + "side").values<float>();
      const auto own = [&](const char* name, int64_t i, int64_t o) {
        return out.at(name).values<float>()[(layer * kIn + i) * kOut + o];
      };
      int64_t num_wrong = 0;
      for (int64_t i = 0; i < kIn; ++i) {
        for (int64_t o = 0; o < kOut; ++o) {
          num_wrong += own("x/up", i, o) != up[o * kIn + i];
          num_wrong += own("x/a", i, o) != fused[o * kIn + i];
          num_wrong += own("x/b", i, o) != fused[(kOut + o) * kIn + i];
          num_wrong += own("x/c", i, o) != side[i * 3 * kOut + o];
          num_wrong += own("x/d", i, o) != side[i * 3 * kOut + kOut + o];
          num_wrong += own("x/e", i, o) != side[i * 3 * kOut + 2 * kOut + o];
        }
      }
      EXPECT_EQ(num_wrong, 0) << layer;
    }
  });
}

TEST_F(LargeTensors, AreBroughtIntoTheirDTypePieceByPiece) {
  for (auto& [path, spec] : specs_) spec.dtype = DType::kBF16;
  Tree<HostTensor> first;
  with_sources([&](const TensorSource& source) {
    const Tree<HostTensor> out = WeightMap(rows_, specs_).read(source);
    EXPECT_EQ(out.at("emb"), tensors_.at("emb").astype(DType::kBF16));
    if (first.empty()) first = out;
    EXPECT_EQ(out, first);
  });
}

TEST_F(LargeTensors, ProblemsAreListedTogether) {
  tensors_.at("l.1.fused").values<float>()[kIn * kOut + 5] = std::nanf("");  // in a later piece
  tensors_.at("bias").values<float>().back() = HUGE_VALF;
  tensors_.erase("l.0.up");
  tensors_.emplace("more", HostTensor::ones({2}));
  with_sources([&](const TensorSource& source) {
    const std::string text = error_of<DataError>([&] { WeightMap(rows_, specs_).read(source); });
    EXPECT_THAT(text, HasSubstr("l.1.fused: expected finite numbers, got NaN or infinity"));
    EXPECT_THAT(text, HasSubstr("bias: expected finite numbers, got NaN or infinity"));
    EXPECT_THAT(text, HasSubstr("l.0.up: expected a tensor [900, 1000], got none"));
    EXPECT_THAT(text, HasSubstr("more: expected no tensor of this name, got f32[2]"));
  });
}

// Tensors of one number.
class ManyTensors final : public TensorSource {
 public:
  explicit ManyTensors(std::vector<std::string> names) : names_(std::move(names)) {}
  std::vector<std::string> names() const override { return names_; }
  Type type(const std::string&) const override { return {DType::kF32, {1}}; }
  HostTensor get(const std::string&) const override { return HostTensor::ones({1}); }
  const std::string& where() const override { return where_; }

 private:
  std::vector<std::string> names_;
  std::string where_ = "many";
};

TEST(WeightMapOfManyTensors, UnusedTensorsTakeLittleTime) {
  std::vector<std::string> unused;
  for (int i = 0; i < 1'000'000; ++i) unused.push_back(fmt::format("x.{:07}", i));
  std::vector<std::string> names = unused;
  names.insert(names.begin(), "emb");
  const ManyTensors source(std::move(names));
  const WeightMap map({{.ours = "emb", .theirs = "emb", .storage = Storage::kVector}},
                      {{"emb", {.shape = {1}, .dtype = DType::kF32}}});
  EXPECT_EQ(map.read(source, unused).at("emb"), HostTensor::ones({1}));
  unused.pop_back();
  EXPECT_EQ(error_of<DataError>([&] { map.read(source, unused); }),
            "many: x.0999999: expected no tensor of this name, got f32[1]");
}

}  // namespace
}  // namespace axle
