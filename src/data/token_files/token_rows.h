// The rows of a token file, packed without its ids in memory.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/held_out.h"
#include "data/packing.h"
#include "data/random.h"
#include "data/token_files/token_card.h"
#include "io/token_file.h"

namespace axle {

/// What PackedRows says of at most 65,536 documents, in two bytes for each part and four for each
/// row: how many positions a part has follows from the lengths of its row's documents.
class PackedWindow {
 public:
  static constexpr int64_t kMostDocuments = 65536;

  PackedWindow() = default;
  explicit PackedWindow(const PackedRows& rows);

  /// A document of the window, and its first position in a row.
  struct Part {
    int64_t document = 0;
    int32_t from = 0;
  };
  std::vector<Part> row(int64_t i) const;
  int64_t num_bytes() const;

 private:
  struct Cut {
    uint32_t part = 0;
    int32_t from = 0;
  };
  std::vector<uint32_t> begins_;  // of rows in documents_, then the end
  std::vector<uint16_t> documents_;
  std::vector<Cut> cuts_;  // of parts that do not begin their document, in order
};

/// The documents of a split, in their order. Of each hundred documents in a row, a share of
/// `fraction` is held out, chosen pseudo-randomly; of two documents or more, at least one, and not
/// all. The choice depends only on the number of
/// documents and `fraction`, never on a seed. Takes at most 8 MiB of memory.
class SplitDocuments {
 public:
  /// Throws DataError "<where>: ..." if the split would be empty. `advice` says how there are more
  /// documents.
  SplitDocuments(int64_t num_documents, Split split, double fraction, std::string_view where,
                 std::string_view advice = "give more");
  int64_t count() const { return before(num_documents_); }
  /// Returns the number of the split's document i, below count().
  int64_t at(int64_t i) const;

 private:
  // A bit for each document of a block that is held out.
  using Held = std::array<uint64_t, 2>;
  int64_t held_before(int64_t document) const;
  int64_t before(int64_t document) const;
  int64_t block_of(int64_t i) const;
  Held held_in(int64_t block) const;

  int64_t num_documents_;
  Split split_;
  double fraction_;
  std::vector<Held> held_ = {};  // of all blocks, unless there are too many
};

/// The rows of one pass, with random access by row number. With the file learned_prefix(), only ids
/// that it flags are targets. With Packing::kPairs, what is said of documents holds of pairs; those
/// that are longer than a row are left out.
///
/// The documents of the split, in a seeded order or in that of the file, are cut into windows of
/// equal numbers of documents, and each window is packed by itself: a row never holds documents of
/// two windows. Memory: eight bytes for each window, 16 MiB of packed windows, and what TokenFile
/// takes of its index. A window has about 128 rows, so that the gap at its end is small.
class TokenRows {
 public:
  struct Options {
    int64_t seq_len = 1;
    Packing packing = Packing::kCut;
    LongDocuments long_documents = LongDocuments::kSplit;
    Split split = Split::kAll;
    double held_out_fraction = 0;
    std::optional<int64_t> max_documents = {};  // the first of the split
    bool is_shuffled = true;
    uint64_t seed = 0;
    int64_t vocab_size = 1;      // that ids are below
    std::string tokenizer = {};  // its name, for messages
    bool is_made = false;        // of texts or conversations, for this run
  };
  /// Reads the lengths of all documents, and ids of a file without a card: all of a small one, else
  /// ids of a sample of documents. Throws DataError as TokenFile and SplitDocuments do, if no
  /// document has two ids, and if the file has pairs and they are not packed so, or the other way
  /// round.
  TokenRows(const std::string& path, const Options& options, const std::string& where);

  const TokenFile& file() const { return file_; }
  const std::optional<TokenCard>& card() const { return card_; }
  int64_t num_rows() const { return rows_before_.back(); }
  /// Documents, or pairs.
  int64_t num_documents() const { return num_documents_; }
  /// Ids of these; documents, or pairs, of more than a row.
  int64_t num_tokens() const { return num_tokens_; }
  int64_t num_long() const { return num_long_; }
  /// True if documents, or pairs, of more than a row are in none.
  bool leaves_long_out() const {
    return packs_pairs() || options_.long_documents == LongDocuments::kSkip;
  }
  /// Hash of the file's content and of all that determines the rows.
  uint64_t fingerprint() const;

  /// Throws DataError for ids beyond the vocabulary.
  void fill(int64_t row, const RowView& out);
  /// Returns the parts of a row, by numbers of documents in the file.
  std::vector<RowPart> parts(int64_t row);

 private:
  bool packs_pairs() const { return options_.packing == Packing::kPairs; }
  // Documents that stay together.
  int64_t unit_size() const { return packs_pairs() ? 2 : 1; }
  int64_t document_at(int64_t position) const;
  void check_pairs(const std::string& where) const;
  void check_ids() const;
  int64_t kept_positions(int64_t document) const;
  // The documents from an index in the order on that stay together: their numbers in the file,
  // their lengths, and how many positions of each are used.
  struct Window {
    std::vector<int64_t> documents, lengths, positions;
    int64_t num_long = 0;  // documents, or pairs, of more than a row
    void clear() {
      for (auto* one : {&documents, &lengths, &positions}) one->clear();
    }
  };
  void add_document(int64_t position, Window& out) const;
  Window window_of(int64_t window) const;
  const PackedWindow& packed(int64_t window);
  void count_rows();

  void check_flags(int64_t document) const;
  void ignore_unlearned(const RowPart& part, std::span<int32_t> labels) const;

  TokenFile file_;
  std::unique_ptr<TokenFile> learned_;  // none: all ids are targets
  std::optional<TokenCard> card_;
  Options options_;
  SplitDocuments split_;
  int64_t num_documents_;  // or pairs
  IndexPermutation order_;
  int64_t window_documents_ = 1;            // or pairs
  std::vector<int64_t> rows_before_ = {0};  // of each window, then all
  int64_t num_tokens_ = 0, num_long_ = 0;
  std::map<int64_t, PackedWindow> packed_;  // by window
  std::deque<int64_t> packed_order_;        // of the windows in it, the oldest first
  int64_t packed_bytes_ = 0;
};

}  // namespace axle
