#include "interop/hugging_face.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "interop/foreign/safetensors_folder.h"
#include "interop/import_model.h"
#include "interop/model_folder.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/layer_call.h"
#include "testing/peak_memory.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// A copy of a tiny Llama, with other files in it.
class HuggingFace : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(folder_);
    config_ = Json::parse(read_file(reference("config.json")));
    tensors_ = load_safetensors(reference("model.safetensors"));
  }
  static fs::path reference(const std::string& name) {
    return reference_file("hugging_face/llama_tied/" + name);
  }
  void write() const {
    replace_file(folder_ / "config.json", config_.dump());
    save_safetensors(folder_ / "model.safetensors", tensors_);
  }
  template <class E>
  std::string error() const {
    write();
    return error_of<E>([&] { read_hugging_face(folder_); });
  }
  void set_all_dtypes(DType dtype) {
    for (auto& [name, value] : tensors_) value = value.astype(dtype);
  }

  TempDir dir_;
  fs::path folder_ = dir_ / "model";
  Json config_;
  Tree<HostTensor> tensors_;
};

TEST_F(HuggingFace, ParametersKeepTheirDtype) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    set_all_dtypes(dtype);
    write();
    const ImportedModel model = read_hugging_face(folder_);
    for (const auto& [path, value] : model.parameters) EXPECT_EQ(value.dtype(), dtype) << path;
    EXPECT_EQ(model.parameters.at("decoder/emb/weight"), tensors_.at("model.embed_tokens.weight"));
  }
}

TEST_F(HuggingFace, F16BecomesF32) {
  set_all_dtypes(DType::kF16);
  write();
  import_model({.source = folder_, .dir = dir_ / "imported"});
  const LoadedModel model = load_model(
      dir_ / "imported", Weights::kTrained, [](const std::string&) {}, RunData::kAny);
  EXPECT_EQ(model.parameters.at("model/decoder/emb/weight"),
            tensors_.at("model.embed_tokens.weight").astype(DType::kF32));
}

TEST_F(HuggingFace, SeveralDtypesBecomeF32) {
  HostTensor& norm = tensors_.at("model.norm.weight");
  norm = norm.astype(DType::kBF16);
  write();
  const ImportedModel model = read_hugging_face(folder_);
  EXPECT_EQ(model.parameters.at("decoder/output_norm/scale"), norm.astype(DType::kF32));
}

TEST_F(HuggingFace, ParametersMayHaveAnotherDtypeThanTheFiles) {
  for (const auto& [stored, wanted] : {std::pair(DType::kF32, DType::kBF16),
                                       {DType::kBF16, DType::kF32},
                                       {DType::kF16, DType::kBF16}}) {
    set_all_dtypes(stored);
    write();
    const ImportedModel model = read_hugging_face(folder_, {.dtypes = {.all = wanted}});
    for (const auto& [path, value] : model.parameters) EXPECT_EQ(value.dtype(), wanted) << path;
    EXPECT_EQ(model.parameters.at("decoder/emb/weight"),
              tensors_.at("model.embed_tokens.weight").astype(wanted));
    import_model({.source = folder_,
                  .dir = dir_ / "imported",
                  .options = {.read = {.dtypes = {.all = wanted}}}});
    const LoadedModel imported = load_model(
        dir_ / "imported", Weights::kTrained, [](const std::string&) {}, RunData::kAny);
    EXPECT_EQ(imported.parameters.at("model/decoder/emb/weight").dtype(), wanted);
    remove_tree(dir_ / "imported");
  }
}

// Each tensor is brought into its dtype as it is read, and none is held twice for long.
TEST_F(HuggingFace, ReadingTakesLittleMoreMemoryThanTheParametersInTheirDtype) {
  config_.update({{"hidden_size", 512},
                  {"intermediate_size", 1408},
                  {"num_hidden_layers", 20},
                  {"head_dim", 64},
                  {"num_attention_heads", 8},
                  {"num_key_value_heads", 8},
                  {"vocab_size", 2048}});
  write();
  const ImportedModel shape = read_hugging_face(folder_, {.with_weights = false});
  const auto model = shape.model.build({}, Scope{.path = "model"});
  const Tree<Type> types =
      WeightMap(shape.rows, subtree(model->param_specs(), "model")).types(DType::kF32);
  save_safetensors_folder(
      folder_, shards_of(types, int64_t{1} << 40),
      [&](const std::string& name) { return HostTensor::full(types.at(name).dims, 0.5); });
  for (const DType dtype : {DType::kBF16, DType::kF32}) {
    read_hugging_face(reference(""), {.dtypes = {.all = dtype}});  // the code is in memory then
    reset_peak_resident_bytes();
    const int64_t before = peak_resident_bytes();
    const ImportedModel read = read_hugging_face(folder_, {.dtypes = {.all = dtype}});
    int64_t bytes = 0;
    for (const auto& [path, value] : read.parameters)
      bytes += static_cast<int64_t>(value.type().num_bytes());
    EXPECT_GT(bytes, 50 << 20);
    EXPECT_LT(static_cast<double>(peak_resident_bytes() - before), 1.2 * static_cast<double>(bytes))
        << to_text(dtype);
  }
}

TEST_F(HuggingFace, SeveralFilesFormOneModel) {
  const ImportedModel whole = read_hugging_face(reference(""));
  Tree<HostTensor> first, second;
  Json places;
  for (const auto& [name, value] : tensors_) {
    Tree<HostTensor>& half = first.size() < tensors_.size() / 2 ? first : second;
    half.emplace(name, value);
    places[name] = &half == &first ? "a.safetensors" : "b.safetensors";
  }
  replace_file(folder_ / "config.json", config_.dump());
  save_safetensors(folder_ / "a.safetensors", first);
  save_safetensors(folder_ / "b.safetensors", second);
  const auto write_index = [&] {
    replace_file(folder_ / "model.safetensors.index.json", Json{{"weight_map", places}}.dump());
  };
  const auto error = [&] {
    write_index();
    return error_of<DataError>([&] { read_hugging_face(folder_); });
  };
  write_index();
  EXPECT_EQ(read_hugging_face(folder_).parameters, whole.parameters);
  places["model.norm.weight"] = "a.safetensors";
  EXPECT_THAT(error(), HasSubstr("expected a file that holds model.norm.weight"));
  places.erase("model.norm.weight");
  EXPECT_THAT(error(), HasSubstr("expected weight_map to name b.safetensors for "
                                 "model.norm.weight, got none"));
  for (const char* name : {"../model/b.safetensors", "b\n.safetensors"}) {
    places["model.norm.weight"] = name;
    EXPECT_THAT(error(), HasSubstr("expected the name of a file"));
  }
}

// As transformers, which reads the index only of a folder without the single file.
TEST_F(HuggingFace, SingleFileOverridesTheIndex) {
  write();
  const Tree<HostTensor> expected = read_hugging_face(folder_).parameters;
  Tree<HostTensor> others;
  Json places;
  for (const auto& [name, value] : tensors_) {
    others.emplace(name, HostTensor::zeros(value.shape(), value.dtype()));
    places[name] = "a.safetensors";
  }
  const std::string index = folder_ / "model.safetensors.index.json";
  const auto read = [&] {
    replace_file(index, Json{{"weight_map", places}}.dump());
    return read_hugging_face(folder_).parameters;
  };
  const auto got = [&](const std::string& what) {
    return index + ": expected the tensors of the model.safetensors beside it, got " + what +
           "; remove the one of the two that is not the model";
  };
  EXPECT_EQ(read(), expected) << "the files of the index need not be there";
  save_safetensors(folder_ / "a.safetensors", others);
  EXPECT_EQ(read(), expected);
  places["more"] = "a.safetensors";
  EXPECT_EQ(error_of<DataError>(read), got("more as well"));
  places.erase("more");
  places.erase("model.norm.weight");
  EXPECT_EQ(error_of<DataError>(read), got("no model.norm.weight"));
  // One of several files may have the name of the single one.
  places["model.norm.weight"] = "model.safetensors";
  save_safetensors(folder_ / "model.safetensors",
                   {{"model.norm.weight", tensors_.at("model.norm.weight")}});
  others.erase("model.norm.weight");
  save_safetensors(folder_ / "a.safetensors", others);
  const Tree<HostTensor> mixed = read();
  EXPECT_EQ(mixed.at("decoder/output_norm/scale"), expected.at("decoder/output_norm/scale"));
  EXPECT_NE(mixed.at("decoder/emb/weight"), expected.at("decoder/emb/weight"));
}

TEST_F(HuggingFace, WrongTensorsAreListedTogether) {
  tensors_.erase("model.layers.1.mlp.up_proj.weight");
  tensors_.insert_or_assign("model.norm.weight", HostTensor::full({15}, 1));
  tensors_.emplace("model.extra", HostTensor::full({2}, 1));
  const std::string text = error<DataError>();
  EXPECT_THAT(text, HasSubstr("model.layers.1.mlp.up_proj.weight: expected a tensor [24, 16], "
                              "got none"));
  EXPECT_THAT(text, HasSubstr("model.norm.weight: expected floats [16], got f32[15]"));
  EXPECT_THAT(text, HasSubstr("model.extra: expected no tensor of this name, got f32[2]"));
}

TEST_F(HuggingFace, NumbersMustBeFinite) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    for (const char* name : {"model.norm.weight", "model.layers.0.self_attn.q_proj.weight"}) {
      const HostTensor good = tensors_.at(name);
      tensors_.at(name).values<float>()[3] = bad;
      EXPECT_THAT(error<DataError>(),
                  HasSubstr(std::string(name) + ": expected finite numbers, got NaN or infinity"));
      tensors_.at(name) = good;
    }
  }
}

// Some programs save a tied head beside the embedding.
TEST_F(HuggingFace, TiedHeadMustEqualTheEmbedding) {
  const HostTensor& embedding = tensors_.at("model.embed_tokens.weight");
  tensors_.emplace("lm_head.weight", embedding);
  write();
  EXPECT_FALSE(read_hugging_face(folder_).parameters.contains("decoder/lm_head/weight"));
  tensors_.at("lm_head.weight").values<float>()[0] += 1;
  EXPECT_THAT(error<DataError>(), HasSubstr("lm_head.weight: expected no tensor of this name"));
}

// The folder of a model that was saved without its head: as openai-community/gpt2, which keeps its
// masks, too.
TEST_F(HuggingFace, NamesMayLackTheirPrefix) {
  write();
  const Tree<HostTensor> expected = read_hugging_face(folder_).parameters;
  Tree<HostTensor> bare;
  for (const auto& [name, value] : tensors_) bare.emplace(name.substr(name.find('.') + 1), value);
  tensors_ = bare;
  write();
  EXPECT_EQ(read_hugging_face(folder_).parameters, expected);
  tensors_.erase("norm.weight");
  EXPECT_THAT(error<DataError>(), HasSubstr("norm.weight: expected a tensor"));
}

TEST_F(HuggingFace, Gpt2KeepsItsMasks) {
  const auto file = [](const std::string& name) {
    return reference_file("hugging_face/gpt2/" + name);
  };
  config_ = Json::parse(read_file(file("config.json")));
  tensors_ = load_safetensors(file("model.safetensors"));
  write();
  const Tree<HostTensor> expected = read_hugging_face(folder_).parameters;
  for (const std::string prefix : {"transformer.", ""}) {
    SCOPED_TRACE(prefix);
    tensors_.clear();
    for (const auto& [name, value] : load_safetensors(file("model.safetensors")))
      tensors_.emplace(prefix.empty() ? name.substr(name.find('.') + 1) : name, value);
    tensors_.emplace(prefix + "h.0.attn.bias", HostTensor::ones({1, 1, 8, 8}));
    tensors_.emplace(prefix + "h.0.attn.masked_bias", HostTensor::scalar(-1e4f));
    write();
    EXPECT_EQ(read_hugging_face(folder_).parameters, expected);
  }
}

// As transformers 4 writes a number without an upper limit.
TEST_F(HuggingFace, InfiniteNumbersMayBeBareWords) {
  const fs::path mamba = reference_file("hugging_face/mamba2/config.json");
  std::string text = read_file(mamba);
  const size_t begin = text.find("\"time_step_limit\"");
  ASSERT_NE(begin, text.npos);
  text.replace(begin, text.find(']', begin) + 1 - begin,
               R"("_name_or_path": "say \"Infinity", "time_step_limit": [0.0, Infinity])");
  replace_file(folder_ / "config.json", text);
  fs::copy_file(mamba.parent_path() / "model.safetensors", folder_ / "model.safetensors",
                fs::copy_options::overwrite_existing);
  EXPECT_FALSE(read_hugging_face(folder_).parameters.empty());
}

TEST_F(HuggingFace, UnknownFieldsAreNamed) {
  config_["use_magic"] = true;
  config_["nothing"] = nullptr;  // says nothing
  config_["rope_parameters"]["spin"] = 2;
  EXPECT_THAT(error<ConfigError>(),
              HasSubstr("expected fields that Axle knows, got rope_parameters.spin, use_magic; if "
                        "they do not change what the model computes, give --ignore "
                        "rope_parameters.spin --ignore use_magic"));
  read_hugging_face(folder_, {.ignored = {"rope_parameters.spin", "use_magic"}});
}

TEST_F(HuggingFace, NamesOfUnknownFieldsStayInTheirLine) {
  config_["use\nmagic"] = true;
  EXPECT_THAT(error<ConfigError>(), HasSubstr("got use\\x0amagic; if"));
}

TEST_F(HuggingFace, FieldsOfOtherKindsAndValuesAreRefused) {
  const auto error_with = [&](const std::string& key, const Json& value) {
    const Json good = config_;
    config_[key] = value;
    std::string text = error<DataError>();
    config_ = good;
    return text;
  };
  EXPECT_THAT(error_with("hidden_size", -16), HasSubstr("hidden_size: expected an integer from 1"));
  EXPECT_THAT(error_with("hidden_size", "16"), HasSubstr("got \"16\""));
  EXPECT_THAT(error_with("hidden_size", 1e300), HasSubstr("hidden_size: expected an integer"));
  EXPECT_THAT(error_with("num_hidden_layers", nullptr), HasSubstr("expected an integer, got none"));
  EXPECT_THAT(error_with("hidden_act", "tanh"), HasSubstr("hidden_act: expected silu, gelu"));
  EXPECT_THAT(error_with("model_type", "gpt_oss"),
              HasSubstr("model_type: expected one of deepseek_v3, gemma2, gemma3"));
  EXPECT_THAT(error_with("rope_parameters", {{"rope_type", "proportional"}}),
              HasSubstr("rope_parameters.rope_type: expected default, linear, dynamic, llama3, "
                        "longrope or yarn"));
  EXPECT_THAT(error_with("attention_dropout", 0.1), HasSubstr("attention_dropout: expected 0.0"));
  EXPECT_THAT(error_with("rms_norm_eps", "small"), HasSubstr("expected a finite number"));
  EXPECT_THAT(error_with("mlp_bias", 1), HasSubstr("mlp_bias: expected true or false, got 1"));
}

TEST_F(HuggingFace, FoldersWithoutAModelAreRefused) {
  const auto error = [&] { return error_of<DataError>([&] { read_hugging_face(folder_); }); };
  EXPECT_THAT(error(), HasSubstr("model: expected config.json, got nothing there"));
  replace_file(folder_ / "config.json", "{\"model_type\": \"llama\"");
  EXPECT_THAT(error(), HasSubstr("config.json"));
  replace_file(folder_ / "config.json", "[]");
  EXPECT_THAT(error(), HasSubstr("expected an object with the fields of a model"));
  replace_file(folder_ / "config.json", config_.dump());
  EXPECT_THAT(error(), HasSubstr("expected model.safetensors or model.safetensors.index.json, got "
                                 "config.json"));
  for (const char* name : {"pytorch_model-00001-of-00002.bin", "model.pt", "consolidated.00.pth"}) {
    for (const char* head : {"\x80\x02}q", "PK\x03\x04 archive/data.pkl"}) {
      replace_file(folder_ / name, head);
      EXPECT_THAT(error(), HasSubstr(std::string(name) +
                                     ", a Python pickle; reading one may run any code; save its "
                                     "tensors as safetensors"));
    }
    remove_tree(folder_ / name);
  }
}

// Whoever takes the folder of an import takes that of Hugging Face as well.
TEST_F(HuggingFace, FolderReadInPlaceMatchesItsImport) {
  set_all_dtypes(DType::kBF16);
  write();
  const ImportReport report = import_model({.source = folder_, .dir = dir_ / "imported"});
  EXPECT_THAT(to_text(report),
              HasSubstr("vocabulary of 40, texts of up to 32 tokens; no tokenizer"));
  const auto quiet = [](const std::string&) {};
  const LoadedModel imported =
      load_model(dir_ / "imported", Weights::kTrained, quiet, RunData::kAny);
  const LoadedModel direct = load_model(folder_, Weights::kTrained, quiet, RunData::kAny);
  EXPECT_EQ(direct.parameters, imported.parameters);
  EXPECT_EQ(direct.context_len, imported.context_len);
  // A new run may compute in another dtype.
  Child<Model> config = direct.config;
  config.options.dtype = {};
  const auto model = config.build({}, Scope{.path = "model"});
  const Tree<HostTensor> initial = load_initial_parameters(folder_, *model, quiet).by_path;
  ASSERT_EQ(initial.size(), direct.parameters.size());
  for (const auto& [path, value] : direct.parameters)
    EXPECT_EQ(initial.at(path), value.astype(DType::kF32)) << path;
  EXPECT_THAT(error_of<ConfigError>([&] { load_model(folder_, Weights::kAverage, quiet); }),
              HasSubstr("expected a run with averaged parameters"));
}

TEST_F(HuggingFace, TokenizerIsImportedWithItsFiles) {
  const Json tokenizer = {
      {"model",
       {{"type", "WordLevel"}, {"vocab", {{"a", 0}, {"b", 1}, {"?", 2}}}, {"unk_token", "?"}}},
      {"added_tokens", {{{"id", 3}, {"content", "<end>"}, {"special", true}}}}};
  for (const char* named : {"", "tokenizer.json", "tk.json"}) {  // by --tokenizer, of any name
    fs::create_directories(folder_);
    write();
    const fs::path beside = *named ? fs::path(dir_ / "other") : folder_;
    fs::create_directories(beside);
    const fs::path file = beside / (*named ? named : "tokenizer.json");
    replace_file(file, tokenizer.dump());
    replace_file(beside / "tokenizer_config.json", R"({"eos_token": "<end>"})");
    replace_file(beside / "chat_template.jinja", "{{ messages[0].content }}");
    replace_file(beside / "generation_config.json", R"({"eos_token_id": [3, 1]})");
    import_model(
        {.source = folder_,
         .dir = dir_ / "imported",
         .options = {.tokenizer = *named ? file : fs::path(), .read = {.ignored = {"tokenizer"}}}});
    fs::remove_all(folder_);  // the import stands alone
    fs::remove_all(beside);
    fs::rename(dir_ / "imported", dir_ / "moved");
    const LoadedModel moved = load_model(dir_ / "moved");
    EXPECT_EQ(moved.tokenizer->special_ids().eos, 3) << named;
    const ChatSettings chat = moved.tokenizer->chat_settings();
    EXPECT_EQ(chat.chat_template, "{{ messages[0].content }}") << named;
    EXPECT_THAT(chat.end_ids, ::testing::ElementsAre(3, 1)) << named;
    fs::remove_all(dir_ / "moved");
  }
}

TEST_F(HuggingFace, DifferingSpecialIdsAreReportedInOneLine) {
  const Json tokenizer = {
      {"model",
       {{"type", "WordLevel"}, {"vocab", {{"a", 0}, {"b", 1}, {"?", 2}}}, {"unk_token", "?"}}},
      {"added_tokens",
       {{{"id", 3}, {"content", "<end>"}, {"special", true}},
        {{"id", 4}, {"content", "<begin>"}, {"special", true}}}}};
  config_.update({{"bos_token_id", 4}, {"eos_token_id", 7}, {"pad_token_id", nullptr}});
  write();
  replace_file(folder_ / "tokenizer.json", tokenizer.dump());
  replace_file(folder_ / "tokenizer_config.json",
               R"({"bos_token": "<begin>", "eos_token": "<end>", "pad_token": "<end>"})");
  const auto said = [&] {
    std::string out;
    load_model(folder_, Weights::kTrained, [&](const std::string& line) { out += line + "\n"; });
    return out;
  };
  const std::string line = "WARNING: " + (folder_ / "config.json").string() +
                           ": expected the special ids of tokenizer.json, got eos 7 and not 3; "
                           "those of the tokenizer count\n";
  EXPECT_EQ(said(), line);
  EXPECT_THAT(to_text(import_model({.source = folder_, .dir = dir_ / "imported"})),
              ::testing::EndsWith(line));
  config_["eos_token_id"] = {7, 3};
  config_.erase("bos_token_id");
  write();
  EXPECT_EQ(said(), "");
}

TEST_F(HuggingFace, ANamedTokenizerOfAnotherModelIsRefused) {
  config_.update({{"bos_token_id", 24}, {"eos_token_id", {7, 25}}, {"pad_token_id", 0}});
  write();
  const std::string file = dir_ / "tokenizer.json";
  const auto import = [&](int num_words, const char* end, std::vector<std::string> ignored) {
    Json vocabulary;
    for (int id = 0; id < num_words; ++id) vocabulary["t" + std::to_string(id)] = id;
    const Json tokenizer = {
        {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "t0"}}}};
    replace_file(file, tokenizer.dump());
    replace_file(dir_ / "tokenizer_config.json", Json{{"eos_token", end}}.dump());
    fs::remove_all(dir_ / "imported");
    return import_model({.source = folder_,
                         .dir = dir_ / "imported",
                         .options = {.tokenizer = file, .read = {.ignored = std::move(ignored)}}});
  };
  const auto refused = [&](int num_words, const char* end) {
    return error_of<DataError>([&] { import(num_words, end, {}); });
  };
  EXPECT_TRUE(import(40, "t7", {}).has_tokenizer);
  EXPECT_EQ(refused(40, "t8"), file + ": expected the special ids of " +
                                   (folder_ / "config.json").string() +
                                   ", got others: the model has eos 7 or 25 and not 8; give the "
                                   "tokenizer of the model, or --ignore tokenizer");
  EXPECT_EQ(refused(19, "t7"), file +
                                   ": expected the tokenizer of a model of 40 tokens, got one "
                                   "with a vocabulary of 19; give the tokenizer of the model, "
                                   "or --ignore tokenizer");
  EXPECT_TRUE(import(20, "t7", {}).has_tokenizer);
  EXPECT_THAT(import(19, "t8", {"tokenizer"}).special_ids, HasSubstr("eos 7 or 25 and not 8"));
}

// Gemma 3 has a token of images, which models of text have no row for.
TEST_F(HuggingFace, OnlySpecialTokensMayExceedTheModelsRows) {
  write();
  Json vocabulary;
  for (int id = 0; id < 40; ++id) vocabulary["t" + std::to_string(id)] = id;
  Json tokenizer = {{"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "t0"}}},
                    {"added_tokens", {{{"id", 40}, {"content", "<image>"}, {"special", true}}}}};
  replace_file(folder_ / "tokenizer.json", tokenizer.dump());
  EXPECT_EQ(load_model(folder_).tokenizer->vocab_size(), 41);
  tokenizer["added_tokens"][0]["special"] = false;
  replace_file(folder_ / "tokenizer.json", tokenizer.dump());
  EXPECT_THAT(error_of<DataError>([&] { load_model(folder_); }),
              HasSubstr("expected a vocabulary of at most 40 tokens, as in the weights, got 41"));
}

TEST_F(HuggingFace, FailedImportLeavesNoFiles) {
  tensors_.erase("model.norm.weight");
  write();
  EXPECT_THROW(import_model({.source = folder_, .dir = dir_ / "a/new"}), DataError);
  EXPECT_FALSE(path_exists(dir_ / "a"));
}

}  // namespace
}  // namespace axle
