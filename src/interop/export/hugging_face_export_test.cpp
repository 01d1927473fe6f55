#include "interop/export/hugging_face_export.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/tokenizers/open_tokenizer.h"
#include "interop/foreign/safetensors_folder.h"
#include "interop/gguf/tiny_gguf_test.h"
#include "interop/hugging_face.h"
#include "interop/import_model.h"
#include "interop/reference_models_test.h"
#include "interop/tiny_model_test.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/models/beside_frozen.h"
#include "layers/models/multi_token_lm.h"
#include "layers/pipeline/pipeline.h"
#include "layers/positions/frequencies.h"
#include "layers/state_space/mamba.h"
#include "modifiers/products/product_modifiers.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"
#include "testing/test_name.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

const Report kQuiet = [](const std::string&) {};

Json config_in(const fs::path& folder) {
  return Json::parse(read_file(folder / kHuggingFaceConfig));
}

// Returns the tensors of a folder, as numbers.
Tree<HostTensor> tensors_in(const fs::path& folder) {
  const SafetensorsFolder stored(folder);
  const auto form = fp8_form_of(ForeignConfig(config_in(folder), folder.string()));
  const Fp8Blocks blocks(stored, form.value_or(Fp8Form{1, 1}));
  Tree<HostTensor> out;
  for (const std::string& name : blocks.names()) out.emplace(name, blocks.get(name));
  return out;
}

class ReferenceExport : public ::testing::TestWithParam<std::string> {
 protected:
  // Expects the folder to hold the original's tensors, and a config of the same model.
  void expect_original(const fs::path& folder) const {
    EXPECT_EQ(tensors_in(folder), tensors_in(original_));
    const ImportedModel read = read_hugging_face(folder), first = read_hugging_face(original_);
    const auto found = differences(plain_model(read.model), plain_model(first.model));
    EXPECT_TRUE(found.empty()) << found.front().path;
    EXPECT_EQ(read.max_seq_len, first.max_seq_len);
    EXPECT_EQ(read.parameters, first.parameters);
    const Json own = config_in(folder), theirs = config_in(original_);
    for (const char* key : {"architectures", "model_type"}) EXPECT_EQ(own[key], theirs[key]);
  }

  TempDir dir_;
  fs::path original_ = reference_file("hugging_face/" + GetParam());
};

TEST_P(ReferenceExport, RestoresTheImportedFolder) {
  import_model({.source = original_, .dir = dir_ / "imported"});
  export_hugging_face({.options = {.run = dir_ / "imported"}, .dir = dir_ / "out"}, kQuiet);
  expect_original(dir_ / "out");
}

TEST_P(ReferenceExport, FolderOfAnotherProgramKeepsItsFamilyAndSpecialIds) {
  export_hugging_face({.options = {.run = original_}, .dir = dir_ / "out"}, kQuiet);
  expect_original(dir_ / "out");
  const Json own = config_in(dir_ / "out"), theirs = config_in(original_);
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"}) {
    const bool is_in_vocabulary = theirs[key].is_number() && theirs[key] < theirs["vocab_size"];
    EXPECT_EQ(own[key], is_in_vocabulary ? theirs[key] : Json(nullptr)) << key;  // GPT-2's are not
  }
}

// transformers refuses the id of padding for which there is no row.
TEST(HuggingFaceExportOfAFolder, APaddingTokenWithoutARowHasNoId) {
  const TempDir dir;
  const fs::path folder = dir.path() / "model";
  fs::copy(reference_file("hugging_face/llama"), folder);
  Json vocabulary;
  for (int id = 0; id < 40; ++id) vocabulary[id == 2 ? "</s>" : "t" + std::to_string(id)] = id;
  const Json model = {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "t0"}};
  replace_file(folder / "tokenizer.json", Json{{"model", model}}.dump());
  replace_file(folder / "tokenizer_config.json", R"({"eos_token": "</s>", "pad_token": "<pad>"})");
  export_hugging_face({.options = {.run = folder}, .dir = dir / "out"}, kQuiet);
  EXPECT_EQ(config_in(dir / "out")["eos_token_id"], 2);
  EXPECT_EQ(config_in(dir / "out")["pad_token_id"], nullptr);
}

// A GGUF file may name a token that begins no text: the folder names it, too.
class OfGguf : public TinyGguf {};
TEST_F(OfGguf, SpecialIdsComeFromTheFile) {
  metadata_.set("tokenizer.ggml.model", "gpt2");
  metadata_.set("tokenizer.ggml.pre", "smollm");
  metadata_.set("tokenizer.ggml.tokens", std::vector<std::string>{"A", "<|s|>", "<|e|>"});
  metadata_.set("tokenizer.ggml.token_type", std::vector<int32_t>{1, 3, 3});
  metadata_.set("tokenizer.ggml.merges", std::vector<std::string>{});
  metadata_.set("tokenizer.ggml.add_bos_token", false);
  metadata_.set("tokenizer.ggml.bos_token_id", uint32_t{1});
  metadata_.set("tokenizer.ggml.eos_token_id", uint32_t{2});
  write();
  export_hugging_face({.options = {.run = path_}, .dir = dir_ / "out"}, kQuiet);
  for (const char* name : {"config.json", "generation_config.json"}) {
    const Json fields = Json::parse(read_file(dir_ / ("out/" + std::string(name))));
    EXPECT_EQ(fields["bos_token_id"], 1) << name;
    EXPECT_EQ(fields["eos_token_id"], 2) << name;
  }
}

TEST(HuggingFaceExportTest, ReportsAModelThatChangedItsFamily) {
  const TempDir dir;
  import_model({.source = reference_file("hugging_face/qwen3"), .dir = dir / "run"});
  replace_file(dir / "run/config.json", R"({"model_type": "phi3"})");
  std::vector<std::string> lines;
  const HuggingFaceExport request{.options = {.run = dir / "run"}, .dir = dir / "out"};
  const ExportReport done =
      export_hugging_face(request, [&](const std::string& line) { lines.push_back(line); });
  EXPECT_EQ(done.family, "qwen3");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("expected a model of the family phi3, got another one; "));
  EXPECT_THAT(lines[0], HasSubstr("; it becomes a qwen3"));
}

constexpr auto kNamedByModel = [](const auto& info) { return test_name(info.param); };
INSTANTIATE_TEST_SUITE_P(Models, ReferenceExport, ::testing::ValuesIn(reference_models()),
                         kNamedByModel);

class HuggingFaceExporting : public ::testing::Test {
 protected:
  // Saves the model and exports it; returns the report.
  ExportReport exported(const TinyModel& tiny, HuggingFaceExport request = {}) {
    if (path_exists(dir_ / "run")) remove_tree(dir_ / "run");
    if (path_exists(out_)) remove_tree(out_);
    save_byte_model(dir_ / "run", tiny);
    request.options.run = dir_ / "run";
    request.dir = out_;
    return export_hugging_face(request, [&](const std::string& line) { reports_.push_back(line); });
  }
  static HostTensor logits(Model& model, const Tree<HostTensor>& parameters) {
    const HostTensor ids({2, 6}, {1, 5, 9, 2, 30, 7, 3, 3, 0, 11, 8, 4});
    return testing::call_layer(model, parameters, {{"batch/input_ids", ids}}, {.method = "logits"})
        .outputs[0];
  }
  // Expects the exported folder to compute what the model does.
  void expect_same_logits(const TinyModel& tiny) const {
    const ImportedModel read = read_hugging_face(out_);
    Tree<HostTensor> parameters;
    put_subtree(parameters, "model", read.parameters);
    const HostTensor own = logits(*tiny.model, tiny.parameters),
                     theirs = logits(*read.model.build({}, Scope{.path = "model"}), parameters);
    ASSERT_EQ(own.shape(), theirs.shape());
    for (int64_t i = 0; i < own.size(); ++i) ASSERT_NEAR(own.at(i), theirs.at(i), 1e-4) << i;
  }
  std::string error_of_export(const TinyModel& tiny, const HuggingFaceExport& request = {}) {
    return error_of<ConfigError>([&] { exported(tiny, request); });
  }

  TempDir dir_;
  fs::path out_ = dir_ / "out";
  std::vector<std::string> reports_;
};

// Rows of one byte model must have room for the bytes.
TinyModel byte_sized(Child<Block> layers) {
  TinyModel out(CausalLM::Config{.decoder = Decoder::Config{.model_dim = 16,
                                                            .vocab_size = 260,
                                                            .layers = std::move(layers),
                                                            .lm_head = LmHead::Config{}}});
  out.parameters = testing::initial_parameters(*out.model, 7);
  return out;
}

TransformerLayer::Config layer_of(Child<QKV> qkv, int64_t num_kv_heads = 2) {
  TransformerLayer::Config out = tiny_layer();
  auto& attention = *out.attention.get_if<PreNorm>()->body.get_if<Attention>();
  attention.num_kv_heads = num_kv_heads;
  attention.qkv = std::move(qkv);
  return out;
}

// Our recipes fuse projections and rotate neighbours; Hugging Face's Llama does neither.
TEST_F(HuggingFaceExporting, LlamasOfAllLayoutsKeepTheirLogits) {
  const Child<QKV> grouped = RoPE::Config{.inner = FusedGroupedQKV::Config{}},
                   fused = RoPE::Config{.inner = FusedQKV::Config{}},
                   biased = RoPE::Config{.inner = FusedQKV::Config{.bias = true}},
                   halves = RoPE::Config{.pairs = PairLayout::kHalves,
                                         .inner = FusedGroupedQKV::Config{}},
                   part = RoPE::Config{.fraction = 0.5, .inner = FusedGroupedQKV::Config{}};
  const auto plain = layer_of(grouped);
  const std::map<std::string, Child<Block>> models = {
      {"Stacked", Stacked::Config{.num_layers = 3, .layer = plain}},
      {"Repeat", Repeat::Config{.num_layers = 3, .layer = plain}},
      {"Pipeline", Pipeline::Config{.num_layers = 3, .num_microbatches = 2, .layer = plain}},
      {"Pattern", Pattern::Config{.num_layers = 5, .pattern = {plain, plain}}},
      {"nested",
       Repeat::Config{.num_layers = 2, .layer = Stacked::Config{.num_layers = 2, .layer = plain}}},
      {"loops",
       Repeat::Config{.num_layers = 2, .layer = Repeat::Config{.num_layers = 3, .layer = plain}}},
      {"fused", Repeat::Config{.num_layers = 2, .layer = layer_of(fused, 4)}},
      {"halves", Repeat::Config{.num_layers = 2, .layer = layer_of(halves)}},
      {"half a head", Repeat::Config{.num_layers = 2, .layer = layer_of(part)}}};
  for (const auto& [name, layers] : models) {
    SCOPED_TRACE(name);
    const TinyModel tiny = byte_sized(layers);
    EXPECT_EQ(exported(tiny).family, "llama");
    expect_same_logits(tiny);
  }
  const TinyModel qwen = byte_sized(Repeat::Config{.num_layers = 2, .layer = layer_of(biased, 4)});
  EXPECT_EQ(exported(qwen).family, "qwen2");
  expect_same_logits(qwen);
}

TEST_F(HuggingFaceExporting, RotationsKeepTheirFrequencies) {
  for (const FrequencyFn& frequencies : std::vector<FrequencyFn>{
           DividedFrequencies{.divisors = std::vector<Positive<double>>{1, 2.5},
         .attention_factor = 1.25},
           LinearFrequencies{.factor = 4}, DynamicFrequencies{.factor = 4, .original_len = 64},
           Llama3Frequencies{.factor = 8, .original_len = 16},
           YaRNFrequencies{.factor = 4, .original_len = 8, .whole_indices = false}}) {
    const RoPE::Config rope{
        .theta = 500, .frequencies = frequencies, .inner = FusedGroupedQKV::Config{}};
    const TinyModel tiny = byte_sized(Repeat::Config{.num_layers = 1, .layer = layer_of(rope)});
    exported(tiny);
    expect_same_logits(tiny);
  }
}

// The scales of norms of heads rotate with the heads, also where each head has its own.
TEST_F(HuggingFaceExporting, NormScalesFollowTheOrderOfHeadElements) {
  const auto export_as = [&](NormOver over, const std::string& family) {
    TransformerLayer::Config layer = layer_of(
        RoPE::Config{.inner = NormedQKV::Config{.over = over, .inner = FusedGroupedQKV::Config{}}});
    if (family == "olmo2") {
      for (Child<Block>* const block : {&layer.attention, &layer.feed_forward}) {
        *block = Sandwich::Config{.in_norm = {},
                                  .body = block->get_if<PreNorm>()->body,
                                  .body_norm = RMSNorm::Config{},
                                  .out_norm = {}};
      }
    }
    TinyModel tiny = byte_sized(Repeat::Config{.num_layers = 2, .layer = layer});
    for (auto& [path, value] : tiny.parameters) {
      if (!path.ends_with("_norm/scale")) continue;
      for (size_t i = 0; i < static_cast<size_t>(value.size()); ++i)
        value.values<float>()[i] = 0.5f + 0.1f * static_cast<float>(i % 16);
    }
    EXPECT_EQ(exported(tiny).family, family);
    expect_same_logits(tiny);
  };
  export_as(NormOver::kHead, "qwen3");
  export_as(NormOver::kAllHeads, "olmo2");
}

// What trains the model is no part of it.
TEST_F(HuggingFaceExporting, PartsOnlyForTrainingAreLeftOut) {
  const TinyModel plain = byte_sized(Stacked::Config{.num_layers = 2, .layer = tiny_layer()});
  const auto expect_exported = [&](Child<Model> whole, const std::string& part) {
    SCOPED_TRACE(part);
    TinyModel tiny(std::move(whole));
    tiny.parameters = testing::initial_parameters(*tiny.model, 8);
    const std::string root = "model/";
    for (const auto& [path, value] : plain.parameters)
      tiny.parameters.insert_or_assign(root + part + path.substr(root.size()), value);
    EXPECT_EQ(exported(tiny).family, "llama");
    expect_same_logits(plain);
  };
  expect_exported(PreferenceLM::Config{.policy = plain.config, .reference = plain.config},
                  "policy/");
  expect_exported(Distillation::Config{.student = plain.config, .teacher = plain.config},
                  "student/");
  const MultiTokenLM::Config heads{.decoder = plain.config.get_if<CausalLM>()->decoder,
                                   .mtp_head = SequentialMtpHead::Config{.layer = tiny_layer()}};
  expect_exported(heads, "");
  EXPECT_THAT(reports_, ElementsAre(HasSubstr("the heads of MultiTokenLM for further tokens are "
                                              "left out")));
  expect_exported(PreferenceLM::Config{.policy = heads, .reference = plain.config}, "policy/");
}

TEST_F(HuggingFaceExporting, AdaptersAreMerged) {
  Child<Model> config = byte_sized(Stacked::Config{.num_layers = 2, .layer = tiny_layer()}).config;
  apply_modifier(Lora::Config{.at = "**.qkv.**", .rank = 2}, "lora", config);
  TinyModel tiny(config);
  tiny.parameters = testing::initial_parameters(*tiny.model, 5);
  for (auto& [path, value] : tiny.parameters) {
    if (!path.ends_with("lora_up")) continue;
    for (size_t i = 0; i < static_cast<size_t>(value.size()); ++i)
      value.values<float>()[i] = 0.1f * static_cast<float>(i % 5);
  }
  EXPECT_EQ(exported(tiny).num_adapters, 1);  // one config for both layers
  expect_same_logits(tiny);
}

TEST_F(HuggingFaceExporting, WritesDtypesShardsAndAdjacentFiles) {
  const TinyModel tiny = byte_sized(Stacked::Config{.num_layers = 2, .layer = tiny_layer()});
  const ExportReport whole = exported(tiny);
  EXPECT_EQ(whole.num_files, 1);
  EXPECT_THAT(to_text(whole), HasSubstr("out: llama, "));
  EXPECT_THAT(
      list_directory(out_),
      ElementsAre(out_ / "config.json", out_ / "generation_config.json", out_ / "model.safetensors",
                  out_ / "tokenizer.json", out_ / "tokenizer_config.json"));
  const Json config = config_in(out_);
  EXPECT_EQ(config["torch_dtype"], "float32");
  EXPECT_EQ(config["max_position_embeddings"], 20);
  EXPECT_EQ(config["eos_token_id"], 256);
  EXPECT_EQ(config["pad_token_id"], nullptr);
  const SafetensorsFile file(out_ / "model.safetensors");
  EXPECT_EQ(file.metadata().at("format"), "pt");
  const Tree<HostTensor> tensors = load_safetensors(out_ / "model.safetensors");

  const ExportReport parts =
      exported(tiny, {.options = {.dtype = DType::kBF16}, .max_file_bytes = 4000});
  EXPECT_GT(parts.num_files, 3);
  EXPECT_EQ(config_in(out_)["torch_dtype"], "bfloat16");
  const Json index = Json::parse(read_file(out_ / "model.safetensors.index.json"));
  EXPECT_EQ(index["metadata"]["total_size"], 2 * whole.num_parameters);
  EXPECT_EQ(index["weight_map"].size(), tensors.size());
  for (const auto& [name, place] : index["weight_map"].items()) {
    const SafetensorsFile part(out_ / place.get<std::string>());
    EXPECT_EQ(part.get(name), tensors.at(name).astype(DType::kBF16)) << name;
  }
  read_hugging_face(out_);
}

TEST_F(HuggingFaceExporting, TheTokenizerOfBytesIsReadBack) {
  exported(byte_sized(Stacked::Config{.num_layers = 1, .layer = tiny_layer()}));
  const auto tokenizer = tokenizer_in_file(out_ / "tokenizer.json", "--tokenizer")
                             .build({}, Scope{.path = "tokenizer"});
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  const std::string text = "caf\xc3\xa9 \xf0\x9f\x98\x80\n\t x";
  const auto bytes = ByteTokenizer::Config{};
  const auto own = Child<Tokenizer>(bytes).build({}, Scope{.path = "tokenizer"});
  EXPECT_EQ(tokenizer->encode(text), own->encode(text));
  EXPECT_EQ(tokenizer->special_ids().eos, own->special_ids().eos);
}

TEST_F(HuggingFaceExporting, RefusalNamesTheNearestFamily) {
  TransformerLayer::Config hybrid = tiny_layer();
  hybrid.attention.get_if<PreNorm>()->body = Mamba2::Config{.head_dim = 8};
  const TinyModel mixed =
      byte_sized(Stacked::Config{.num_layers = 2, .layers = {tiny_layer(), hybrid}});
  EXPECT_THAT(
      error_of_export(mixed),
      ::testing::AllOf(
          HasSubstr("run: expected a model of one of the families deepseek_v3, gemma2, gemma3"),
          HasSubstr("it comes nearest to llama, but for "
                    "model.decoder.layers.layers[1].attention.body: expected Attention, "
                    "got Mamba2")));
  TransformerLayer::Config capped = tiny_layer();
  capped.attention.get_if<PreNorm>()->body.get_if<Attention>()->core =
      SoftmaxAttention::Config{.logit_cap = 50};
  const TinyModel one = byte_sized(Stacked::Config{.num_layers = 1, .layer = capped});
  EXPECT_THAT(error_of_export(one), HasSubstr("core.logit_cap: expected none, got 50"));
  const TinyModel plain = byte_sized(Stacked::Config{.num_layers = 1, .layer = tiny_layer()});
  EXPECT_THAT(error_of_export(plain, {.options = {.family = "gpt2"}}),
              HasSubstr("expected a model of the family gpt2, got another one"));
  EXPECT_THAT(error_of_export(plain, {.options = {.family = "rwkv"}}),
              HasSubstr("expected a family of deepseek_v3, gemma2, gemma3_text, gpt2"));
  EXPECT_FALSE(path_exists(out_));
}

TEST_F(HuggingFaceExporting, WritesOnlyNewFoldersAndLeavesNoFilesOnFailure) {
  const TinyModel plain = byte_sized(Stacked::Config{.num_layers = 1, .layer = tiny_layer()});
  save_byte_model(dir_ / "run", plain);
  make_directories(out_);
  replace_file(out_ / "notes.txt", "x");
  const HuggingFaceExport request{.options = {.run = dir_ / "run"}, .dir = out_};
  EXPECT_THAT(error_of<ConfigError>([&] { export_hugging_face(request, kQuiet); }),
              HasSubstr("out: expected a new or empty folder, got one with files in it"));
  EXPECT_TRUE(path_exists(out_ / "notes.txt"));
  // A shard that cannot be written.
  const fs::path below = dir_ / "a/b";
  const std::string long_name(300, 'x');
  EXPECT_THROW(
      export_hugging_face({.options = {.run = dir_ / "run"}, .dir = below / long_name}, kQuiet),
      StorageError);
  EXPECT_FALSE(path_exists(dir_ / "a"));
}

}  // namespace
}  // namespace axle
