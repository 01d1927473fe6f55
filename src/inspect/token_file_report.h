// What is in a token file, and whether it is as it was written.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/input.h"
#include "data/token_files/build_token_file.h"
#include "data/token_files/token_card.h"
#include "io/token_file.h"
#include "train/config/trainer_config.h"

namespace axle {

/// Returns the tokenizer of a file of any kind; of "bytes", ByteTokenizer. Throws DataError with
/// `field` to set.
Child<Tokenizer> tokenizer_named(const std::string& name, std::string_view field);

nlohmann::ordered_json to_json(const TokenBuildResult& result);
std::string to_text(const TokenBuildResult& result);
/// One line: files, documents, tokens, text each second.
std::string to_text(const TokenBuildProgress& progress, double seconds);

struct TokenFileFacts {
  std::string prefix;
  DType dtype = DType::kI32;
  int64_t num_documents = 0, num_tokens = 0;
  int64_t shortest = 0, longest = 0;
  /// Number of documents of 2^(i - 1) to 2^i - 1 tokens; of none for i = 0.
  std::vector<int64_t> histogram = {};
  std::optional<TokenCard> card = {};
  /// The beginnings of the first documents: their ids, and their texts if a tokenizer is known.
  struct Beginning {
    int64_t length = 0;
    std::vector<int32_t> ids = {};
    std::string text = {};
  };
  std::vector<Beginning> first = {};
};

/// Reads the lengths of all documents and the first `num_first` documents. `tokenizer` decodes
/// them; none: that of the card, if its file is there.
TokenFileFacts token_file_facts(const std::string& name, const Child<Tokenizer>& tokenizer,
                                int64_t num_first);
std::string to_text(const TokenFileFacts& facts);
nlohmann::ordered_json to_json(const TokenFileFacts& facts);

struct TokenFileCheck {
  std::string prefix;
  int64_t num_documents = 0, num_tokens = 0;
  int64_t vocab_size = 0;  // that ids are below; 0: not known
  bool has_card = false;   // else hashes are not known
  int32_t largest_id = -1;
  int64_t largest_document = 0;  // the first that has it
  int64_t num_learned = -1;      // ids that are targets; -1: there are no flags
};

/// Reads all of a token file: its index, ids, flags, and its hashes if it has a card. Throws
/// DataError at the first fault. Ids are below `vocab_size` and the vocabulary of the card.
TokenFileCheck verify_token_file(const std::string& name, std::optional<int64_t> vocab_size);
std::string to_text(const TokenFileCheck& check);
nlohmann::ordered_json to_json(const TokenFileCheck& check);

struct StepOrigins {
  int64_t step = 0;
  std::vector<RowOrigin> parts = {};
};

/// Opens the training input of a config as a run does, and asks for the rows of a step, from 1.
/// `run` is the folder of the run, or the path of its config. Throws ConfigError for a step behind
/// `max_steps`, if the input has no documents, or if the data end before the step. Throws DataError
/// if a checkpoint of the run shows that the data have changed.
StepOrigins origins_of_step(const Trainer::Config& config, int64_t step,
                            const std::filesystem::path& run);
std::string to_text(const StepOrigins& origins);
nlohmann::ordered_json to_json(const StepOrigins& origins);

}  // namespace axle
