#include "data/tokenizers/parts/pre_tokenizers.h"

#include <algorithm>
#include <utility>

#include "base/text/unicode.h"
#include "data/tokenizers/parts/byte_level.h"

namespace axle {
namespace {

// A part of a piece, and whether it matched. The parts of a piece cover it.
struct Part {
  size_t begin, end;
  bool is_match;
};

class Cutter {
 public:
  Cutter(Pieces& pieces, SplitBehavior behavior) : pieces_(pieces), behavior_(behavior) {
    out_.reserve(pieces.ranges.size());
  }
  ~Cutter() { pieces_.ranges = std::move(out_); }
  Cutter(const Cutter&) = delete;
  Cutter& operator=(const Cutter&) = delete;

  // Parts come in order. A piece ends with end_piece().
  void add(Part part) {
    switch (behavior_) {
      case SplitBehavior::kRemoved:
        if (!part.is_match) put(part);
        break;
      case SplitBehavior::kIsolated:
        put(part);
        break;
      case SplitBehavior::kContiguous:
        join_or_put(part, part.is_match == was_match_);
        break;
      case SplitBehavior::kMergedWithPrevious:
        join_or_put(part, part.is_match && !was_match_);
        break;
      case SplitBehavior::kMergedWithNext:
        // A match waits for what follows it; a second match leaves the first one alone.
        if (part.is_match) {
          if (was_match_) put(waiting_);
          waiting_ = part;
        } else {
          if (was_match_) part.begin = waiting_.begin;
          put(part);
        }
    }
    was_match_ = part.is_match;
  }
  void end_piece() {
    if (behavior_ == SplitBehavior::kMergedWithNext && was_match_) put(waiting_);
    was_match_ = false;
    first_ = out_.size();
  }

 private:
  void put(const Part& part) {
    if (part.begin < part.end) out_.push_back({part.begin, part.end});
  }
  void join_or_put(const Part& part, bool join) {
    if (join && out_.size() > first_)
      out_.back().end = part.end;
    else
      put(part);
  }

  Pieces& pieces_;
  SplitBehavior behavior_;
  std::vector<PieceRange> out_;
  size_t first_ = 0;  // of the pieces cut from the current one
  bool was_match_ = false;
  Part waiting_ = {};
};

// Cuts each piece at its matches: next(text) begins a piece and next() finds the next match.
template <class Start, class Next>
void cut(Pieces& pieces, SplitBehavior behavior, bool inverted, Start&& start, Next&& next) {
  const std::vector<PieceRange> ranges = pieces.ranges;
  Cutter cutter(pieces, behavior);
  for (const PieceRange& range : ranges) {
    size_t at = range.begin;
    start(pieces.view(range));
    while (const std::optional<UnicodeRegex::Match> match = next()) {
      const size_t begin = range.begin + match->begin;
      if (at < begin) cutter.add({at, begin, inverted});
      cutter.add({begin, range.begin + match->end, !inverted});
      at = range.begin + match->end;
    }
    if (at < range.end) cutter.add({at, range.end, inverted});
    cutter.end_piece();
  }
}

// Writes each piece anew by write(piece, is_first, out).
template <class Write>
void rewrite(Pieces& pieces, Write&& write) {
  std::string text;
  text.reserve(pieces.text.size() + pieces.text.size() / 4);
  pieces.at_start &= !pieces.ranges.empty() && pieces.ranges[0].begin == 0;
  for (PieceRange& range : pieces.ranges) {
    const size_t begin = text.size();
    write(pieces.view(range), begin == 0 && pieces.at_start, text);
    range = {begin, text.size()};
  }
  pieces.text = std::move(text);
}

}  // namespace

PreTokenizer split_at_pattern(UnicodeRegex pattern, SplitBehavior behavior, bool inverted) {
  return [pattern = std::move(pattern), behavior, inverted](Pieces& pieces) {
    UnicodeRegex::Finder finder(pattern, {});
    cut(
        pieces, behavior, inverted, [&](std::string_view text) { finder.start(text); },
        [&] { return finder.next(); });
  };
}

PreTokenizer split_at_text(std::string text, SplitBehavior behavior, bool inverted) {
  return [text = std::move(text), behavior, inverted](Pieces& pieces) {
    std::string_view piece;
    size_t from = 0;
    const auto next = [&]() -> std::optional<UnicodeRegex::Match> {
      const size_t begin = text.empty() ? piece.npos : piece.find(text, from);
      if (begin == piece.npos) return std::nullopt;
      from = begin + text.size();
      return UnicodeRegex::Match{begin, from};
    };
    cut(
        pieces, behavior, inverted,
        [&](std::string_view whole) {
          piece = whole;
          from = 0;
        },
        next);
  };
}

PreTokenizer split_at_characters(std::function<bool(char32_t)> is_delimiter,
                                 SplitBehavior behavior) {
  return [is_delimiter = std::move(is_delimiter), behavior](Pieces& pieces) {
    const std::vector<PieceRange> ranges = pieces.ranges;
    Cutter cutter(pieces, behavior);
    for (const PieceRange& range : ranges) {
      size_t begin = range.begin, at = range.begin;
      for_each_code_point(pieces.view(range), [&](char32_t c) {
        const size_t size = utf8_size(c);
        if (is_delimiter(c)) {
          if (begin < at) cutter.add({begin, at, false});
          cutter.add({at, at + size, true});
          begin = at + size;
        }
        at += size;
      });
      if (begin < at) cutter.add({begin, at, false});
      cutter.end_piece();
    }
  };
}

PreTokenizer gpt2_split() {
  constexpr std::string_view kPattern =
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  return split_at_pattern(UnicodeRegex(kPattern, RegexSyntax::kOniguruma),
                          SplitBehavior::kIsolated);
}

PreTokenizer add_prefix_space() {
  return [](Pieces& pieces) {
    rewrite(pieces, [](std::string_view piece, bool, std::string& out) {
      if (!piece.starts_with(' ')) out += ' ';
      out += piece;
    });
  };
}

PreTokenizer map_bytes() {
  return [](Pieces& pieces) {
    rewrite(pieces,
            [](std::string_view piece, bool, std::string& out) { out += to_byte_level(piece); });
  };
}

PreTokenizer metaspace(std::string replacement, PrependScheme scheme, bool split) {
  const PreTokenizer split_before = split_at_text(replacement, SplitBehavior::kMergedWithNext);
  return [replacement = std::move(replacement), scheme, split, split_before](Pieces& pieces) {
    rewrite(pieces, [&](std::string_view piece, bool is_first, std::string& out) {
      const bool prepends =
          scheme == PrependScheme::kAlways || (scheme == PrependScheme::kFirst && is_first);
      if (prepends && !piece.starts_with(' ') && !piece.starts_with(replacement))
        out += replacement;
      for (const char c : piece) {
        if (c == ' ')
          out += replacement;
        else
          out += c;
      }
    });
    if (split) split_before(pieces);
  };
}

PreTokenizer fixed_length(size_t length) {
  return [length](Pieces& pieces) {
    const std::vector<PieceRange> ranges = pieces.ranges;
    Cutter cutter(pieces, SplitBehavior::kIsolated);
    for (const PieceRange& range : ranges) {
      size_t begin = range.begin, at = range.begin, count = 0;
      for_each_code_point(pieces.view(range), [&](char32_t c) {
        if (count == length) {
          cutter.add({begin, at, true});
          begin = at;
          count = 0;
        }
        at += utf8_size(c);
        ++count;
      });
      cutter.add({begin, at, true});
      cutter.end_piece();
    }
  };
}

}  // namespace axle
