#include "interop/export/gguf_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "data/tokenizers/gguf/gguf_tokenizer.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "data/tokenizers/parts/byte_level.h"
#include "data/tokenizers/parts/pipeline_tokenizer.h"
#include "data/tokenizers/ranks/ranks_tokenizer.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "interop/gguf/gguf_tensors.h"
#include "io/file.h"
#include "io/gguf/gguf_file.h"
#include "io/proto.h"

namespace axle {
namespace {

constexpr const char *kTokens = "tokenizer.ggml.tokens", *kTypes = "tokenizer.ggml.token_type",
                     *kScores = "tokenizer.ggml.scores", *kChatTemplate = "tokenizer.chat_template";
enum TokenType : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5 };

// Texts of many kinds, on which tokenizers of other patterns differ.
constexpr const char* kSample =
    "Hello world's 12345 tests: a_b = c[0]; x+=3.14  // don't\n\n\tna\xc3\xafve \xe2\x80\x94 "
    "\xd0\x94\xd0\xb2\xd0\xb0 \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe3\x83\x86\xe3\x82\xb9 "
    "\xf0\x9f\x99\x82\r\n   spaced   out!?  ";

// A tokenizer of keys that are not in a file.
class TokenizerOfKeys final : public PipelineTokenizer {
 public:
  explicit TokenizerOfKeys(const GgufMetadata& keys)
      : PipelineTokenizer(parts_of_gguf(keys, "GGUF")) {}
};

// True if the tokenizer's files put the end token behind a text.
bool adds_end(const Tokenizer& tokenizer) {
  constexpr int32_t kText = -1;
  return tokenizer.framed({kText}).back() == tokenizer.special_ids().eos;
}

// What the tokenizer's object knows: ids and the chat template. A token of padding needs no row.
void set_usage(const Tokenizer& tokenizer, int64_t num_rows, GgufMetadata& out) {
  const SpecialIds ids = tokenizer.special_ids();
  const auto set = [&](const char* key, std::optional<int32_t> id) {
    if (id && *id < num_rows) out.set(key, static_cast<uint32_t>(*id));
  };
  set("tokenizer.ggml.bos_token_id", ids.bos);
  set("tokenizer.ggml.eos_token_id", ids.eos);
  set("tokenizer.ggml.padding_token_id", ids.pad);
  out.set("tokenizer.ggml.add_bos_token", ids.bos.has_value());
  out.set("tokenizer.ggml.add_eos_token", adds_end(tokenizer));
  const ChatSettings chat = tokenizer.chat_settings();
  if (!chat.chat_template.empty()) out.set(kChatTemplate, chat.chat_template);
  for (const int32_t id : chat.end_ids) {
    if (id == ids.eos) continue;
    set("tokenizer.ggml.eot_token_id", id);
    break;
  }
}

// Puts the added tokens at their ids; ids that are free up to there become unused ones.
void set_added(const Tokenizer& tokenizer, GgufMetadata& out) {
  std::vector<std::string> tokens = out.at(kTokens).texts();
  const std::vector<int64_t> old = out.at(kTypes).integers(0, 6);
  std::vector<int32_t> types(old.begin(), old.end());
  std::vector<float> scores;
  if (const auto given = out.find(kScores)) scores = given->numbers();
  for (const int32_t id : tokenizer.added_ids()) {
    const auto at = static_cast<size_t>(id);
    for (size_t next = tokens.size(); next <= at; ++next) {
      tokens.push_back("[PAD" + std::to_string(next) + "]");
      types.push_back(kUnused);
      if (!scores.empty()) scores.push_back(-1e4f);
    }
    if (types[at] == kUnknown) continue;
    tokens[at] = tokenizer.token(id);
    types[at] = tokenizer.piece(id).empty() ? kControl : kUserDefined;
  }
  out.set(kTokens, tokens);
  out.set(kTypes, types);
  if (!scores.empty()) out.set(kScores, scores);
}

// A text with the tokens that are found by name, between others.
std::string sample_with_added(const Tokenizer& tokenizer) {
  std::string out;
  for (const int32_t id : tokenizer.added_ids()) {
    out += "a" + tokenizer.token(id) + "b " + tokenizer.token(id) + " c";
  }
  return out;
}

// Returns keys of tokens with the keys of their use; empty if texts would have other ids.
GgufMetadata with_usage(GgufMetadata keys, const Tokenizer& tokenizer, int64_t num_rows) {
  if (!keys.contains(kTokens)) return {};
  set_added(tokenizer, keys);
  set_usage(tokenizer, num_rows, keys);
  const std::string with_added = sample_with_added(tokenizer);
  const auto is_same = [&] {
    const TokenizerOfKeys own(keys);
    return own.encode(kSample) == tokenizer.encode(kSample) &&
           own.encode_with_special(with_added) == tokenizer.encode_with_special(with_added) &&
           own.special_ids().bos == tokenizer.special_ids().bos;
  };
  if (is_same()) return keys;
  // llama.cpp knows by the name that the special tokens take the spaces behind them. It looks then
  // for these, and does not load a file without them.
  const std::vector<std::string>& tokens = keys.at(kTokens).texts();
  const auto is_there = [&](const char* token) { return std::ranges::count(tokens, token) > 0; };
  if (!std::ranges::all_of(std::to_array({"<unk>", "<s>", "</s>", "<|endoftext|>"}), is_there))
    return {};
  keys.set("general.name", "Phi-3");
  return is_same() ? keys : GgufMetadata();
}

// All keys but the ones about the weights.
GgufMetadata keys_of_gguf(const std::string& path) {
  constexpr auto kOfWeights = std::to_array<std::string_view>(
      {"general.architecture", "general.type", "general.file_type", "general.alignment",
       "general.quantization_version", "general.size_label"});
  const GgufMetadata whole = storage_error_as<DataError>(
      [&] { return read_gguf_header(FileReader(path_of_text(path))).metadata; });
  GgufMetadata out;
  for (const auto& [key, value] : whole.entries()) {
    if (std::ranges::count(kOfWeights, key) > 0) continue;
    if (key.starts_with("general.") || key.starts_with("tokenizer.")) out.set(key, value);
  }
  return out;
}

// A byte-level model without merges; where it cuts a text makes no difference.
GgufMetadata keys_of_bytes() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte)
    tokens.push_back(to_byte_level(std::string(1, static_cast<char>(byte))));
  std::vector<int32_t> types(tokens.size(), kNormal);
  static_assert(ByteTokenizer::kBoundary == 256);
  tokens.emplace_back("<|endoftext|>");
  types.push_back(kControl);
  GgufMetadata out;
  out.set("tokenizer.ggml.model", "gpt2");
  out.set("tokenizer.ggml.pre", "gpt-2");
  out.set(kTokens, tokens);
  out.set(kTypes, types);
  out.set("tokenizer.ggml.merges", std::vector<std::string>{});
  out.set("tokenizer.ggml.bos_token_id", uint32_t{ByteTokenizer::kBoundary});
  out.set("tokenizer.ggml.eos_token_id", uint32_t{ByteTokenizer::kBoundary});
  out.set("tokenizer.ggml.add_bos_token", true);  // as `axle generate` does
  return out;
}

// llama.cpp takes a token for each row. Tokens without a row are special ones that no text yields.
void fit_to(int64_t num_rows, GgufMetadata& out) {
  std::vector<std::string> tokens = out.at(kTokens).texts();
  if (std::ssize(tokens) == num_rows) return;
  const auto size = static_cast<size_t>(num_rows);
  for (size_t id = tokens.size(); id < size; ++id)
    tokens.push_back("[PAD" + std::to_string(id) + "]");
  tokens.resize(size);
  out.set(kTokens, tokens);
  if (const auto types = out.find(kTypes)) {
    const std::vector<int64_t> old = types->integers(0, 6);
    std::vector<int32_t> fitted(old.begin(), old.end());
    fitted.resize(size, kUnused);
    out.set(kTypes, fitted);
  }
  if (const auto scores = out.find(kScores)) {
    std::vector<float> fitted = scores->numbers();
    fitted.resize(size, -1e4f);
    out.set(kScores, fitted);
  }
}

}  // namespace

GgufMetadata gguf_tokenizer_keys(const Child<Tokenizer>& config, const Tokenizer& tokenizer,
                                 int64_t num_rows, const std::string& chat_template) {
  GgufMetadata out;
  if (const auto* const gguf = config.get_if<GgufTokenizer>())
    out = keys_of_gguf(gguf->path);
  else if (config.get_if<ByteTokenizer>())
    out = keys_of_bytes();
  else if (const auto* const json = config.get_if<HuggingFaceTokenizer>())
    out = with_usage(gguf_keys_of_tokenizer_json(json->path), tokenizer, num_rows);
  else if (const auto* const pieces = config.get_if<SentencePieceTokenizer>())
    out = with_usage(gguf_keys_of_sentencepiece(pieces->path), tokenizer, num_rows);
  if (!out.contains(kTokens)) return out;
  fit_to(num_rows, out);
  if (!chat_template.empty()) out.set(kChatTemplate, chat_template);
  return out;
}

namespace {

// Field numbers of sentencepiece_model.proto. The types of pieces have the numbers of GGUF's.
constexpr int kPieces = 1, kTrainer = 2, kNormalizer = 3;         // of ModelProto
constexpr int kPieceText = 1, kPieceScore = 2, kPieceType = 3;    // of SentencePiece
constexpr int kModelType = 3, kUnknownId = 40, kDummyPrefix = 3;  // of TrainerSpec, NormalizerSpec
constexpr int64_t kMerges = 2;                                    // of TrainerSpec::ModelType

struct PieceTable {
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<int32_t> types;
};

void add_piece(std::string_view message, std::string_view path, PieceTable& out) {
  out.tokens.emplace_back();
  out.scores.push_back(0);
  out.types.push_back(1);
  ProtoReader piece(message, path);
  while (const auto field = piece.next()) {
    if (field->number == kPieceText) out.tokens.back() = std::string(field->bytes());
    if (field->number == kPieceScore)
      out.scores.back() = std::bit_cast<float>(static_cast<uint32_t>(field->bits));
    if (field->number == kPieceType) out.types.back() = static_cast<int32_t>(field->varint());
  }
}

// Returns a number of a message, or what it has as its default.
int64_t number_in(std::string_view message, std::string_view path, int number, int64_t otherwise) {
  ProtoReader reader(message, path);
  while (const auto field = reader.next())
    if (field->number == number) otherwise = static_cast<int64_t>(field->varint());
  return otherwise;
}

}  // namespace

GgufMetadata gguf_keys_of_sentencepiece(const std::string& path) {
  const std::string model =
      storage_error_as<DataError>([&] { return read_file(path_of_text(path)); });
  check_sentencepiece_model(model, path);
  PieceTable pieces;
  int64_t type = 1, unknown = 0, has_prefix = 1;
  ProtoReader reader(model, path);
  while (const auto field = reader.next()) {
    if (field->number == kPieces) add_piece(field->bytes(), path, pieces);
    if (field->number == kTrainer) {
      type = number_in(field->bytes(), path, kModelType, type);
      unknown = number_in(field->bytes(), path, kUnknownId, unknown);
    }
    if (field->number == kNormalizer)
      has_prefix = number_in(field->bytes(), path, kDummyPrefix, has_prefix);
  }
  if (type != kMerges) return {};
  GgufMetadata out(path);
  out.set("tokenizer.ggml.model", "llama");
  out.set("tokenizer.ggml.pre", "default");
  out.set("tokenizer.ggml.tokens", pieces.tokens);
  out.set("tokenizer.ggml.scores", pieces.scores);
  out.set("tokenizer.ggml.token_type", pieces.types);
  out.set("tokenizer.ggml.unknown_token_id", static_cast<uint32_t>(unknown));
  out.set("tokenizer.ggml.add_space_prefix", has_prefix != 0);
  return out;
}

namespace {

using Json = nlohmann::ordered_json;

// Adds the patterns of a step that cuts text; false for a step that GGUF has no form for.
bool add_patterns(const Json& step, std::vector<std::string>& out) {
  if (step.is_null()) return true;
  const std::string type = step.value("type", "");
  if (type == "Sequence") {
    return std::ranges::all_of(step.value("pretokenizers", Json::array()),
                               [&](const Json& inner) { return add_patterns(inner, out); });
  }
  if (type == "ByteLevel") {
    if (step.value("use_regex", true)) out.emplace_back(split_patterns::kGpt2);
    return !step.value("add_prefix_space", true);
  }
  if (type == "Digits" && step.value("individual_digits", false)) {
    out.emplace_back(R"(\p{N})");
    return true;
  }
  if (type != "Split" || step.value("behavior", "") != "Isolated" || step.value("invert", false))
    return false;
  const Json pattern = step.value("pattern", Json::object());
  if (!pattern.contains("Regex")) return false;
  out.push_back(pattern["Regex"].get<std::string>());
  return true;
}

bool has_no_normalizer(const Json& file) {
  const Json normalizer = file.value("normalizer", Json());
  return normalizer.is_null() || normalizer.value("type", "") == "NFC";  // llama.cpp leaves it out
}

// True for added tokens that take spaces or words with them, for which GGUF has no form.
bool strips_or_joins(const Json& added) {
  return std::ranges::any_of(std::to_array({"lstrip", "rstrip", "single_word"}),
                             [&](const char* flag) { return added.value(flag, false); });
}

// Writes the tokens of the model with their types.
void set_tokens(const Json& file, GgufMetadata& out) {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  for (const auto& [text, id] : file.at("model").at("vocab").items()) {
    const auto at = id.get<size_t>();
    for (size_t next = tokens.size(); next <= at; ++next) {
      tokens.push_back("[PAD" + std::to_string(next) + "]");
      types.push_back(kUnused);
    }
    tokens[at] = text;
    types[at] = kNormal;
  }
  out.set("tokenizer.ggml.tokens", tokens);
  out.set("tokenizer.ggml.token_type", types);
}

std::vector<std::string> merges_of(const Json& model) {
  std::vector<std::string> out;
  for (const Json& merge : model.at("merges")) {
    out.push_back(merge.is_string()
                      ? merge.get<std::string>()
                      : merge.at(0).get<std::string>() + " " + merge.at(1).get<std::string>());
  }
  return out;
}

}  // namespace

GgufMetadata gguf_keys_of_tokenizer_json(const std::string& path) {
  const Json file =
      json_as<DataError>(path, [&] { return read_json(read_file(path_of_text(path))); });
  const Json& model = file.at("model");
  std::vector<std::string> patterns;
  if (model.value("type", "BPE") != "BPE" || model.value("byte_fallback", false) ||
      !has_no_normalizer(file) || !add_patterns(file.value("pre_tokenizer", Json()), patterns))
    return {};
  if (std::ranges::any_of(file.value("added_tokens", Json::array()), strips_or_joins)) return {};
  const auto name = gguf_split_name(patterns, model.value("ignore_merges", false));
  if (!name) return {};
  GgufMetadata out(path);
  out.set("tokenizer.ggml.model", "gpt2");
  out.set("tokenizer.ggml.pre", std::string(*name));
  set_tokens(file, out);
  out.set("tokenizer.ggml.merges", merges_of(model));
  return out;
}

namespace {

// The tensors of a model, made when they are asked for.
class ExportedTensors final : public TensorSource {
 public:
  ExportedTensors(const ModelToExport& model, std::string where)
      : model_(model), types_(model.weights.types(model.dtype)), where_(std::move(where)) {}

  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    for (const auto& [name, type] : types_) out.push_back(name);
    return out;
  }
  Type type(const std::string& name) const override { return types_.at(name); }
  HostTensor get(const std::string& name) const override {
    return model_.weights.tensor(name, model_.parameters, model_.dtype);
  }
  const std::string& where() const override { return where_; }

 private:
  const ModelToExport& model_;
  Tree<Type> types_;
  std::string where_;
};

std::string type_for(DType dtype) {
  if (dtype == DType::kBF16) return "BF16";
  return dtype == DType::kF16 ? "F16" : "F32";
}

}  // namespace

ExportReport export_gguf(const GgufExport& request, const Report& report) {
  if (path_exists(request.file)) {
    throw ConfigError(fmt::format("{}: expected a new file, got one that exists; name another",
                                  request.file.string()));
  }
  ExportOptions options = request.options;
  if (!request.type.empty()) options.dtype = DType::kF32;  // the file's type rounds
  const ModelToExport model = model_to_export(options, Adapted::kMerged, report);
  GgufToWrite out{.fields = model.described.fields,
                  .type = request.type.empty() ? type_for(model.dtype) : request.type};
  if (model.tokenizer) {
    out.further = gguf_tokenizer_keys(model.tokenizer_config, *model.tokenizer,
                                      model.described.fields.at("vocab_size").get<int64_t>(),
                                      model.chat_template);
  }
  const bool has_tokenizer = out.further.contains("tokenizer.ggml.model");
  if (!has_tokenizer) out.further.set("tokenizer.ggml.model", "no_vocab");
  write_gguf(request.file, out, ExportedTensors(model, request.options.run.string()));
  ExportReport done{.dir = request.file,
                    .family = std::string(model.described.family->model_type),
                    .num_files = 1,
                    .num_adapters = model.num_adapters,
                    .dtype = lower_case(out.type),
                    .has_tokenizer = has_tokenizer};
  for (const auto& [path, value] : model.parameters) done.num_parameters += value.size();
  return done;
}

}  // namespace axle
