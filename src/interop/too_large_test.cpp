// Numbers that a dtype can't hold: nothing that is read or written becomes infinity.
#include <gmock/gmock.h>

#include "base/error.h"
#include "interop/export/gguf_export.h"
#include "interop/export/hugging_face_export.h"
#include "interop/export/peft_export.h"
#include "interop/hugging_face.h"
#include "interop/import_model.h"
#include "interop/peft_adapters.h"
#include "interop/tiny_model_test.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "modifiers/products/product_modifiers.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

const Report kQuiet = [](const std::string&) {};
const std::string kTensor = "model.layers.1.self_attn.q_proj.weight";

class TooLarge : public ::testing::Test {
 protected:
  TooLarge() {
    fs::create_directory(model_);
    fs::copy_file(reference_file("hugging_face/llama/config.json"), model_ / kHuggingFaceConfig);
    tensors_ = load_safetensors(reference_file("hugging_face/llama/model.safetensors"));
  }
  void save(double number, const std::string& tensor = kTensor, DType dtype = DType::kF32) {
    HostTensor& values = tensors_.at(tensor);
    values = values.astype(dtype);
    const HostTensor one = HostTensor::full({1}, number, dtype);
    std::ranges::copy(one.bytes(), values.bytes().subspan(3 * one.bytes().size()).begin());
    save_safetensors(model_ / "model.safetensors", tensors_);
  }
  // Expects one line with exit code 3, and nothing left at `out`.
  template <class Fn>
  std::string refusal(const fs::path& out, Fn&& fn) {
    const Thrown thrown = thrown_by(fn);
    EXPECT_EQ(thrown.code, ExitCode::kData);
    EXPECT_EQ(thrown.message.find('\n'), std::string::npos) << thrown.message;
    EXPECT_FALSE(path_exists(out));
    for (const fs::path& entry : list_directory(model_.parent_path()))
      EXPECT_EQ(entry.string().find(".tmp"), std::string::npos) << entry;
    return thrown.message;
  }
  std::string import_refusal(std::optional<DType> dtype) {
    return refusal(dir_ / "import", [&] {
      import_model({.source = model_,
                    .dir = dir_ / "import",
                    .options = {.read = {.dtypes = {.all = dtype}}}});
    });
  }
  std::string export_refusal(DType dtype) {
    return refusal(dir_ / "out", [&] {
      export_hugging_face({.options = {.run = model_, .dtype = dtype}, .dir = dir_ / "out"},
                          kQuiet);
    });
  }
  std::string gguf_refusal(const std::string& type) {
    return refusal(dir_ / "out.gguf", [&] {
      export_gguf({.options = {.run = model_}, .file = dir_ / "out.gguf", .type = type}, kQuiet);
    });
  }

  TempDir dir_;
  const fs::path model_ = dir_ / "model";
  Tree<HostTensor> tensors_;
};

TEST_F(TooLarge, ImportNamesTheTensorAndTheNumber) {
  save(3.4e38);
  EXPECT_EQ(import_refusal(DType::kBF16),
            model_.string() + ": " + kTensor +
                ": expected magnitudes up to 3.38953e+38 for bf16, got 3.4e+38; f32 holds it");
  EXPECT_NO_THROW(import_model({.source = model_, .dir = dir_ / "import"}));
}

// Tensors of several dtypes become f32.
TEST_F(TooLarge, ImportOfF64NamesTheTensorAndTheNumber) {
  save(-1e300, kTensor, DType::kF64);
  EXPECT_THAT(import_refusal({}), HasSubstr(kTensor + ": expected magnitudes up to 3.40282e+38 for "
                                                      "f32, got -1e+300; f64 alone holds it"));
  EXPECT_THAT(import_refusal(DType::kBF16), HasSubstr("got -1e+300"));
}

TEST_F(TooLarge, ExportNamesTheTensorAndTheNumber) {
  save(70000);
  EXPECT_EQ(export_refusal(DType::kF16),
            kTensor + ": expected magnitudes up to 65504 for f16, got 70000; bf16 and f32 hold it");
  save(70000, "model.norm.weight");
  tensors_.at(kTensor) = HostTensor::ones(tensors_.at(kTensor).shape());
  save(-70000, "model.embed_tokens.weight");
  EXPECT_THAT(export_refusal(DType::kF16), HasSubstr("model.embed_tokens.weight: expected "));
  export_hugging_face({.options = {.run = model_, .dtype = DType::kBF16}, .dir = dir_ / "out"},
                      kQuiet);
}

// Matrices whose rows are no whole blocks of Q8_0 are F16.
TEST_F(TooLarge, GgufExportNamesTheTensorAndTheNumber) {
  save(70000);
  for (const char* type : {"F16", "Q8_0"}) {
    EXPECT_EQ(gguf_refusal(type),
              dir_ / "out.gguf" +
                  ": tensor 'blk.1.attn_q.weight': expected magnitudes up to 65504 for f16, got "
                  "70000; bf16 and f32 hold it");
  }
  save(3.4e38);
  EXPECT_THAT(gguf_refusal("BF16"), HasSubstr("for bf16, got 3.4e+38; f32 holds it"));
  EXPECT_NO_THROW(
      export_gguf({.options = {.run = model_}, .file = dir_ / "out.gguf", .type = "F32"}, kQuiet));
}

TEST_F(TooLarge, StartInAnotherDtypeNamesTheFileAndTheNumber) {
  save(3.4e38);
  import_model({.source = model_, .dir = dir_ / "import"});
  Child<Model> config = read_hugging_face(model_, {.with_weights = false}).model;
  config.options.dtype = DType::kBF16;
  const auto model = config.build({}, Scope{.path = "model"});
  for (const fs::path& start : {model_, fs::path(dir_ / "import")}) {
    const std::string error =
        error_of<DataError>([&] { load_initial_parameters({start}, *model, kQuiet); });
    EXPECT_THAT(error, HasSubstr(start.string() + ": "));
    EXPECT_THAT(error, HasSubstr("for bf16, got 3.4e+38; f32 holds it"));
  }
}

TEST_F(TooLarge, AdaptersNameTheWeight) {
  Child<Model> config = read_hugging_face(reference_file("hugging_face/llama")).model;
  apply_modifier(Lora::Config{.rank = 2}, "lora", config);
  TinyModel tiny(config);
  tiny.parameters = testing::initial_parameters(*tiny.model, 5);
  for (auto& [path, value] : tiny.parameters) {
    if (path.ends_with("q_proj/product/lora_down")) value = HostTensor::full(value.shape(), 70000);
    if (path.ends_with("q_proj/product/lora_up")) value = HostTensor::full(value.shape(), 3e38);
  }
  save_model(dir_ / "run", {.model = tiny.config,
                            .tokenizer = {},
                            .parameters = subtree(tiny.parameters, "model"),
                            .context_len = 20});
  EXPECT_EQ(refusal(dir_ / "peft",
                    [&] {
                      export_peft({.options = {.run = dir_ / "run", .dtype = DType::kF16},
                                   .dir = dir_ / "peft"},
                                  kQuiet);
                    }),
            "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight: expected magnitudes "
            "up to 65504 for f16, got 70000; bf16 and f32 hold it");
  const std::string merged = refusal(dir_ / "merged", [&] {
    merge_adapters(dir_ / "run", dir_ / "merged", Weights::kTrained, kQuiet);
  });
  EXPECT_THAT(merged, HasSubstr("q_proj/weight: expected a sum with its adapter that f32 holds, "
                                "got infinity; take the adapters alone"));
}

}  // namespace
}  // namespace axle
