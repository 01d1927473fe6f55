#include "interop/foreign_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/text/text.h"
#include "checkpoint/folder.h"
#include "data/chat/chat_template.h"
#include "data/tokenizers/open_tokenizer.h"
#include "interop/hugging_face.h"
#include "interop/llama2c.h"
#include "interop/peft_adapters.h"
#include "io/file.h"
#include "io/file_reader.h"
#include "io/gguf/gguf_file.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

// Vocabularies of llama2.c have one id a row of the embedding. Others may have rows to spare.
void check_vocab_size(const fs::path& tokenizer, int64_t size, int64_t rows, bool is_exact) {
  if (is_exact ? size == rows : size <= rows) return;
  throw DataError(fmt::format("{}: expected a vocabulary of {}{} tokens, as in the weights, got {}",
                              tokenizer.string(), is_exact ? "" : "at most ", rows, size));
}

// A run or an import.
bool is_own_folder(const fs::path& path) {
  return path_exists(config_file_of(path)) || path_exists(checkpoints_of(path));
}

ImportedModel read_by_format(const fs::path& path, const ReadOptions& options) {
  if (is_gguf(path)) return read_gguf(path, options);
  if (!is_peft_folder(path)) return read_hugging_face(path, options);
  return storage_error_as<DataError>([&] {
    const fs::path base = peft_base(path);
    if (!is_foreign_model(base) || is_peft_folder(base)) {
      throw ConfigError(
          fmt::format("{}: expected a folder of Hugging Face or a GGUF file as the "
                      "base of the adapters in {}, got another one",
                      base.string(), path.string()));
    }
    const PeftSavedModules saved(path, options.ignored);
    ReadOptions of_base = options;
    if (!saved.empty()) of_base.replaced = {.tensors = &saved, .ties_head = saved.ties_head()};
    ImportedModel out = with_peft_adapters(read_by_format(base, of_base), path, options);
    if (const fs::path own = find_tokenizer(path); !own.empty()) out.tokenizer = own;
    return out;
  });
}

}  // namespace

bool is_foreign_model(const fs::path& path) {
  return is_gguf(path) ||
         (!is_own_folder(path) && (path_exists(path / kHuggingFaceConfig) || is_peft_folder(path)));
}

bool holds_model(const fs::path& path) {
  return !path.empty() && (is_own_folder(path) || is_foreign_model(path));
}

std::string origin_config(const fs::path& path) {
  const fs::path model = is_peft_folder(path) ? peft_base(path) : path,
                 file = model / kHuggingFaceConfig;
  if (path_exists(file)) return read_file(file);
  if (!is_gguf(model)) return {};
  return nlohmann::ordered_json{{"model_type", gguf_family(model)}}.dump(2) + "\n";
}

void keep_origin(const fs::path& path, const fs::path& dir,
                 const std::function<void(const fs::path&)>& will_make) {
  const fs::path to = dir / kHuggingFaceConfig;
  if (path.empty() || path_exists(to)) return;
  const std::string text = origin_config(path);
  if (text.empty()) return;
  will_make(to);
  replace_file(to, text);
}

namespace {

// Throws ConfigError for a folder of a hub's cache, "models--org--name": its snapshots are the
// models.
void check_no_snapshots(const fs::path& folder) {
  constexpr size_t kMost = 3;
  if (!directory_exists(folder / "snapshots")) return;
  std::vector<std::string> models;
  for (const fs::path& entry : list_directory(folder / "snapshots"))
    if (is_foreign_model(entry)) models.push_back(entry.string());
  std::ranges::sort(models);
  if (models.size() > kMost) models.resize(kMost);
  throw ConfigError(fmt::format("{}: expected a model, got a folder of a hub's cache; {}",
                                folder.string(),
                                models.empty() ? "download a whole model, snapshots holds none"
                                               : "name its snapshot " + join(models, " or ")));
}

}  // namespace

void check_no_model_inside(const fs::path& folder) {
  check_no_snapshots(folder);
  for (const fs::path& entry : list_directory(folder)) {
    if (!is_foreign_model(entry)) continue;
    throw ConfigError(fmt::format("{}: expected a model, got a folder around one; name {}",
                                  folder.string(), entry.string()));
  }
}

namespace {

// Throws ConfigError, which names the folder, for a file in the folder of a model.
void check_no_file_of_model(const fs::path& path) {
  const fs::path folder = fs::absolute(path).parent_path();
  if (!holds_model(folder)) return;
  throw ConfigError(fmt::format("{}: expected the folder of a model, got a file in it; name {}",
                                path.string(), folder.string()));
}

// True for "org/name", as hubs call their models.
bool is_name_of_hub(const std::string& path) {
  return std::ranges::count(path, '/') == 1 && !path.ends_with('/') &&
         path.find_first_of("/.~") != 0;
}

// Throws DataError if nothing is there; ConfigError for a path beside the model that is meant: a
// file of its folder, or the folder around it.
void check_is_model(const fs::path& path) {
  if (!path_exists(path)) {
    throw DataError(fmt::format(
        "{}: expected a folder of Hugging Face, a GGUF file or weights of llama2.c, got {}",
        path.string(), nothing_at(path)));
  }
  if (!directory_exists(path)) {
    const fs::path kind = path.extension();
    if (kind == ".json" || kind == ".safetensors") check_no_file_of_model(path);
    return;
  }
  if (!is_foreign_model(path)) check_no_model_inside(path);
}

// The model can be used without its template, so that a mistake in it is no error here.
std::string mistake_in_template(const Tokenizer& tokenizer) {
  try {
    find_chat_template(tokenizer, {}, "");
    return {};
  } catch (const DataError& error) {
    return error.what();
  }
}

// Sets the tokenizer of the model, and what is to be said of it. Throws DataError for one that does
// not belong to the model.
void take_tokenizer(const ImportedModel& model, const ForeignOptions& options, bool is_llama2c,
                    ModelToSave& out) {
  const fs::path file = options.tokenizer.empty()
                            ? model.tokenizer
                            : fs::path(tokenizer_path(options.tokenizer.string()));
  if (file.empty()) return;
  out.tokenizer_file = fs::absolute(file);
  out.tokenizer = tokenizer_in_file(text_of_path(out.tokenizer_file.string()), "--tokenizer");
  const auto tokenizer = out.tokenizer.build({}, Scope{.path = "tokenizer"});
  const int64_t size = is_llama2c ? tokenizer->vocab_size() : needed_vocab_size(*tokenizer);
  check_vocab_size(file, size, model.vocab_size, is_llama2c);
  const bool is_checked = std::ranges::count(options.read.ignored, "tokenizer") == 0;
  if (!is_llama2c && !options.tokenizer.empty() && is_checked) {
    check_belongs_to_model(model.special, model.num_tokens.value_or(model.vocab_size), *tokenizer,
                           file.string());
  }
  out.special_ids =
      special_ids_warning(model.special, tokenizer->special_ids(), file.filename().string());
  out.chat_template = mistake_in_template(*tokenizer);
}

}  // namespace

void fail_no_model(const fs::path& path) {
  struct stat info;
  std::string got;
  if (::stat(path.c_str(), &info) != 0) {
    got = nothing_at(path);
    if (is_name_of_hub(path.string()))
      got += "; of a model of a hub, download the files and name their folder";
  } else if (S_ISDIR(info.st_mode)) {
    check_no_model_inside(path);
    got = "one without config.yaml or config.json";
  } else {
    check_no_file_of_model(path);
    got = kind_name(info.st_mode);
  }
  throw ConfigError(fmt::format(
      "{}: expected the folder of a run or of an import, a folder of Hugging Face or a GGUF file, "
      "got {}",
      path.string(), got));
}

ModelToSave read_foreign_model(const fs::path& path, const ForeignOptions& options) {
  check_is_model(path);
  const bool is_llama2c = !directory_exists(path) && !is_gguf(path);
  if (is_llama2c && options.tokenizer.empty()) {
    check_llama2c_header(path);  // another file is no matter of a tokenizer
    throw ConfigError(
        fmt::format("--tokenizer: expected the vocabulary of {}, got none", path.string()));
  }
  // A large tokenizer is read before the weights, so that it is not in memory beside them.
  ReadOptions without_weights = options.read;
  without_weights.with_weights = false;
  ImportedModel model = is_llama2c ? read_llama2c(path) : read_by_format(path, without_weights);
  ModelToSave out;
  take_tokenizer(model, options, is_llama2c, out);
  if (!is_llama2c && options.read.with_weights) {
    release_free_memory();
    model = read_by_format(path, options.read);
  }
  out.model = std::move(model.model);
  out.parameters = std::move(model.parameters);
  out.layer_state = std::move(model.layer_state);
  out.context_len = model.max_seq_len;
  out.compute_dtype = model.compute_dtype;
  out.also_trained = std::move(model.replaced);
  out.num_left_out = model.num_left_out;
  out.num_rounded = model.num_rounded;
  return out;
}

namespace {

constexpr const char* kNext = "give the tokenizer of the model, or --ignore tokenizer";

// Adds "eos 2 and not 7" if the config names ids, the tokenizer has one, and it is another.
void compare(const char* name, const std::vector<int64_t>& named, std::optional<int32_t> own,
             std::vector<std::string>& differences) {
  if (named.empty() || !own || std::ranges::count(named, *own) > 0) return;
  differences.push_back(fmt::format("{} {} and not {}", name, fmt::join(named, " or "), *own));
}

}  // namespace

std::string special_ids_warning(const NamedSpecialIds& config, const SpecialIds& tokenizer,
                                const std::string& tokenizer_file) {
  std::vector<std::string> differences;
  compare("bos", config.bos, tokenizer.bos, differences);
  compare("eos", config.eos, tokenizer.eos, differences);
  compare("pad", config.pad, tokenizer.pad, differences);
  if (differences.empty()) return {};
  return fmt::format(
      "WARNING: {}: expected the special ids of {}, got {}; those of the tokenizer count",
      config.where, tokenizer_file, join(differences, ", "));
}

void check_belongs_to_model(const NamedSpecialIds& config, int64_t num_tokens,
                            const Tokenizer& tokenizer, const std::string& tokenizer_file) {
  if (2 * tokenizer.vocab_size() < num_tokens) {
    throw DataError(fmt::format(
        "{}: expected the tokenizer of a model of {} tokens, got one with a vocabulary of {}; {}",
        tokenizer_file, num_tokens, tokenizer.vocab_size(), kNext));
  }
  std::vector<std::string> differences;
  compare("bos", config.bos, tokenizer.special_ids().bos, differences);
  compare("eos", config.eos, tokenizer.special_ids().eos, differences);
  if (differences.empty()) return;
  throw DataError(
      fmt::format("{}: expected the special ids of {}, got others: the model has {}; {}",
                  tokenizer_file, config.where, join(differences, ", "), kNext));
}

}  // namespace axle
