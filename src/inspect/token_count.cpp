#include "inspect/token_count.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/text/units.h"
#include "data/data_kind.h"
#include "data/token_files/corpus_text.h"
#include "data/token_files/token_card.h"

namespace axle {
namespace {

constexpr size_t kBlockBytes = size_t{256} << 10;
constexpr int64_t kBatchBytes = int64_t{4} << 20;
constexpr const char *kStdin = "-", *kStdinName = "stdin";

class Counter {
 public:
  Counter(const Tokenizer& tokenizer, const TextsToCount& texts)
      : tokenizer_(tokenizer),
        format_{.field = texts.field.empty() ? CorpusFormat().field : texts.field},
        on_error_(texts.on_error),
        skips_(texts.on_error, "--on-error") {}

  void count_stdin(bool is_json) {
    count(kStdinName, [&] {
      return CorpusReader(kStdinName, stream_of(STDIN_FILENO, kStdinName), is_json, format_);
    });
  }
  void count_files(const std::vector<std::string>& named) {
    const std::vector<std::string> files = corpus_files(named, "--data", skips_);
    if (on_error_ == OnError::kFail)
      check_are_texts(files, format_.field,
                      "axle data build counts the tokens of conversations; --field names another "
                      "field, which holds texts");
    for (const std::string& path : files) count(path, [&] { return CorpusReader(path, format_); });
  }
  TokenCount take() {
    out_.skipped = skips_.skipped();
    return out_;
  }

 private:
  struct Counted {
    CorpusText document;
    int64_t num_bytes = 0, num_tokens = 0;
  };

  template <class Open>
  void count(const std::string& path, const Open& open) {
    const int64_t before = out_.num_bytes;
    read_or_leave_out(path, skips_, [&] {
      CorpusReader reader = open();
      const auto next = [&](int64_t) { return reader.next_block(kBlockBytes); };
      for (auto batch = next_documents(next, kBatchBytes); !batch.empty();
           batch = next_documents(next, kBatchBytes))
        add(path, batch, reader.is_json());
    });
    out_.num_files += out_.num_bytes > before;
  }

  void add(const std::string& path, std::vector<RawDocument>& batch, bool is_json) {
    std::vector<Counted> counted(batch.size());
    parallel_for(std::ssize(batch), 1, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        Counted& one = counted[i];
        one.document = corpus_text(path, std::move(batch[i]), is_json, format_.field);
        if (!one.document.reason.empty()) continue;
        const std::string text = std::exchange(one.document.text, {});
        one.num_bytes = std::ssize(text);
        one.num_tokens = std::ssize(tokenizer_.encode(text));
      }
    });
    for (const Counted& one : counted) {
      if (!one.document.reason.empty()) {
        leave_out(one.document, skips_);
        continue;
      }
      out_.num_documents += one.document.begins;
      out_.num_bytes += one.num_bytes;
      out_.num_tokens += one.num_tokens;
    }
  }

  const Tokenizer& tokenizer_;
  CorpusFormat format_;
  OnError on_error_;
  SkipLog skips_;
  TokenCount out_;
};

}  // namespace

TokenCount count_tokens(const Tokenizer& tokenizer, const TextsToCount& texts) {
  Counter counter(tokenizer, texts);
  std::vector<std::string> files = texts.data;
  // A second one would find nothing.
  if (std::erase(files, kStdin) > 0) counter.count_stdin(!texts.field.empty());
  if (!files.empty()) counter.count_files(files);
  TokenCount out = counter.take();
  if (out.num_bytes == 0) throw DataError(no_document(texts.data, out.skipped));
  return out;
}

std::string to_text(const TokenCount& c) {
  return fmt::format(
      "{}, {}, {}: {:.3f} bytes a token{}{}\n", counted(c.num_files, "file"),
      counted(c.num_bytes, "byte"), counted(c.num_tokens, "token"),
      static_cast<double>(c.num_bytes) / static_cast<double>(std::max<int64_t>(c.num_tokens, 1)),
      c.skipped.count > 0 ? "; " : "", to_text(c.skipped));
}

nlohmann::ordered_json to_json(const TokenCount& c) {
  return {{"num_files", c.num_files},
          {"num_documents", c.num_documents},
          {"num_bytes", c.num_bytes},
          {"num_tokens", c.num_tokens},
          {"skipped", to_json(c.skipped)}};
}

}  // namespace axle
