#include "data/chat/learned_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/units.h"
#include "data/text_source.h"
#include "data/token_files/corpus_source.h"

namespace axle {
namespace {

int64_t longest_of(const TokenizedDocuments& documents, Packing packing) {
  const int64_t in_row = packing == Packing::kPairs ? 2 : 1;
  int64_t out = 0, length = 0;
  for (int64_t i = 0; i < documents.num_documents(); ++i) {
    if (i % in_row == 0) length = 0;
    length += std::max<int64_t>(std::ssize(documents.document(i)) - 1, 0);
    out = std::max(out, length);
  }
  return out;
}

}  // namespace

void LearnedInput::check_source(const Child<Source>& source, const std::string& path) {
  if (!source.get_if<TextSource>() && !source.get_if<CorpusSource>()) return;
  throw ConfigError(fmt::format(
      "{}.source: expected a ChatSource, got {}; set {}.source=ChatSource, or for texts "
      "{}=TextInput, before --data",
      path, source.any().type().name, path, path));
}

void LearnedInput::take(LearnedDocuments& learned, const InputFacts& facts,
                        const PackedBatches::Options& options, std::string_view what,
                        const std::string& path) {
  facts_ = facts;
  facts_.endless = !options.epochs;
  if (facts_.num_documents == 0) {
    throw DataError(fmt::format("{}.source: expected {} {}, got none; {}", path, what,
                                counted(options.seq_len, "position"), to_text(facts_.skipped)));
  }
  facts_.longest = longest_of(learned.documents, options.packing);
  wheres_ = std::move(learned.wheres);
  batches_ = learned.take_batches(options);
  facts_.num_rows = batches_->num_rows();
  facts_.num_batches = batches_->num_batches();
}

}  // namespace axle
