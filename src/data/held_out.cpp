#include "data/held_out.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"
#include "data/random.h"

namespace axle {
namespace {

// Fixed for ever: another value would mix up the splits of older runs.
constexpr uint64_t kChoice = 20;
// The largest share that whole documents may hold out: somewhat more than `fraction`, never
// everything.
double max_share(double fraction) { return std::min(1.5 * fraction, (1 + fraction) / 2); }

// Returns where the last `tail` bytes of the text begin, moved to the beginning of a line, or at
// least of a character.
size_t tail_begin(std::string_view text, double tail) {
  size_t at = text.size() - std::min(text.size(), static_cast<size_t>(tail));
  const size_t line = text.find('\n', at);
  if (line != text.npos && line + 1 < text.size()) return line + 1;
  while (at > 0 && at < text.size() && utf8_step(text.substr(at)).kind == Utf8Kind::kInvalid) --at;
  return at;
}

int64_t count_lines(std::string_view text) { return std::ranges::count(text, '\n'); }

// Returns "file:line" with the line number advanced by `lines`.
std::string later(const std::string& where, int64_t lines) {
  const size_t colon = where.rfind(':');
  return fmt::format("{}:{}", where.substr(0, colon), std::stoll(where.substr(colon + 1)) + lines);
}

int64_t num_bytes(const std::vector<Document>& documents) {
  int64_t out = 0;
  for (const Document& one : documents) out += std::ssize(one.text);
  return out;
}

// Whole documents to hold out; none if every one is too large.
std::vector<bool> held_documents(const std::vector<Document>& documents, double fraction) {
  const auto total = static_cast<double>(num_bytes(documents));
  std::vector<bool> held(documents.size());
  double held_bytes = 0;
  for (const int64_t i : permutation(std::ssize(documents), kChoice)) {
    const auto size = static_cast<double>(documents[i].text.size());
    if (held_bytes >= fraction * total) break;
    if (held_bytes + size > max_share(fraction) * total) continue;
    held[i] = true;
    held_bytes += size;
  }
  return held_bytes > 0 ? held : std::vector<bool>();
}

std::vector<Document> those_of(const std::vector<Document>& documents,
                               const std::vector<bool>& held, Split split) {
  std::vector<Document> out;
  for (size_t i = 0; i < documents.size(); ++i) {
    if (held[i] == (split == Split::kHeldOut)) out.push_back(documents[i]);
  }
  return out;
}

}  // namespace

std::vector<Document> select_split(const std::vector<Document>& documents, Split split,
                                   double fraction) {
  if (split == Split::kAll) return documents;
  const int64_t total = num_bytes(documents);
  const std::vector<bool> held = held_documents(documents, fraction);
  const bool wanted = split == Split::kHeldOut;
  std::vector<Document> out;
  if (!held.empty()) {
    out = those_of(documents, held, split);
  } else if (fraction > 0) {
    const auto largest =
        std::ranges::max_element(documents, {}, [](const auto& d) { return d.text.size(); });
    const size_t cut = tail_begin(largest->text, fraction * static_cast<double>(total));
    const std::string_view head = largest->text.substr(0, cut), tail = largest->text.substr(cut);
    if (wanted) {
      if (!tail.empty()) out.push_back({tail, later(largest->where, count_lines(head))});
    } else {
      for (const auto& document : documents) {
        if (&document != &*largest)
          out.push_back(document);
        else if (!head.empty())
          out.push_back({head, document.where});
      }
    }
  } else if (!wanted) {
    out = documents;
  }
  if (out.empty()) {
    throw DataError(
        fmt::format("{}: expected enough text for the split '{}', got {} of {}; "
                    "change held_out_fraction ({})",
                    documents.empty() ? "corpus" : documents[0].where, to_text(split),
                    counted(std::ssize(documents), "document"), counted(total, "byte"), fraction));
  }
  return out;
}

std::vector<Document> select_whole(const std::vector<Document>& documents, Split split,
                                   double fraction, std::string_view path) {
  if (split == Split::kAll || fraction == 0) return select_split(documents, split, fraction);
  if (documents.size() < 2) {
    throw DataError(fmt::format(
        "{}.held_out_fraction: expected at least 2 conversations to hold out one, got {}; give "
        "more, or train without held-out ones (--set input.held_out_fraction=0 --set "
        "'evalers={{}}')",
        path, documents.size()));
  }
  std::vector<bool> held = held_documents(documents, fraction);
  if (held.empty()) {
    const auto smallest =
        std::ranges::min_element(documents, {}, [](const auto& d) { return d.text.size(); });
    held.resize(documents.size());
    held[smallest - documents.begin()] = true;
  }
  return those_of(documents, held, split);
}

}  // namespace axle
