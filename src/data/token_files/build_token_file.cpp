#include "data/token_files/build_token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/host_memory_check.h"
#include "base/parallel.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "base/threads.h"
#include "data/token_files/build_progress.h"
#include "data/token_files/corpus_reader.h"
#include "data/token_files/corpus_text.h"
#include "io/file.h"
#include "io/file_lock.h"
#include "io/token_file.h"
#include "io/user_path.h"

namespace axle {
namespace {

// The ids of a document, or why it has none.
struct EncodedDocument {
  std::vector<int32_t> ids = {};
  int64_t text_bytes = 0, piece_bytes = 0;
  CorpusText left_out = {};  // without its text; with a reason if there are no ids
};

// The SHA-256 of a file, computed in a thread of its own, which ends early if nobody wants it.
class FileHash {
 public:
  explicit FileHash(const std::string& path)
      : hex_(start_or_defer([path, is_wanted = is_wanted_] { return hash(path, *is_wanted); })) {}
  ~FileHash() { *is_wanted_ = false; }
  std::string get() { return hex_.get(); }

 private:
  static std::string hash(const std::string& path, const std::atomic<bool>& is_wanted) {
    const FileReader file(path);
    std::vector<std::byte> piece(size_t{1} << 20);
    Sha256 hash;
    int64_t offset = 0;
    while (is_wanted) {
      const size_t got = file.read_some(offset, piece);
      if (got == 0) break;
      hash.add({reinterpret_cast<const char*>(piece.data()), got});
      offset += static_cast<int64_t>(got);
    }
    return hash.hex();
  }
  std::shared_ptr<std::atomic<bool>> is_wanted_ = std::make_shared<std::atomic<bool>>(true);
  std::future<std::string> hex_;
};

// The names of the parts are the prefix with an ending: "corpus/" would name hidden files.
void check_prefix(const std::string& prefix) {
  const std::filesystem::path path = path_of_text(prefix);
  const std::filesystem::path name = path.filename();
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  const bool is_other = kind != std::filesystem::file_type::not_found &&
                        kind != std::filesystem::file_type::regular &&
                        kind != std::filesystem::file_type::directory;
  if (!name.empty() && name != "." && name != ".." && !is_other) return;
  throw ConfigError(fmt::format(
      "--out {}: expected the first part of the names of three files, got {}; --out {} writes {}",
      prefix, is_other ? "a device" : "a folder", is_other ? "tokens" : (path / "tokens").string(),
      is_other ? "tokens.bin" : (path / "tokens.bin").string()));
}

class TokenBuilder {
 public:
  TokenBuilder(const TokenBuild& build, const TokenBuildHooks& hooks)
      : build_(build),
        hooks_(hooks),
        tokenizer_(build.tokenizer.build({}, {.path = "tokenizer"})),
        special_(tokenizer_->special_ids()),
        skips_(build.on_error, build.on_error_field),
        folder_(build.prefix + ".part") {
    check_prefix(build.prefix);
    if (!build.begins) special_.bos.reset();
    if (!build.ends) special_.eos.reset();
    for (int64_t id = 0; id < tokenizer_->vocab_size(); ++id)
      piece_sizes_.push_back(std::ssize(tokenizer_->piece(static_cast<int32_t>(id))));
    SkipLog listed(build.on_error, build.on_error_field);
    files_ = corpus_files(build.sources, "SOURCES", listed);
    progress_.skipped = listed.skipped();
    sizes_ = sizes_of_files(files_);
    for (const int64_t bytes : sizes_) all_bytes_ += bytes;
    progress_.job = job();
  }

  TokenBuildResult run() {
    TokenBuildResult result;
    if (const auto there = finished_before()) {
      result.card = *there;
      result.is_finished = result.was_there = true;
      return result;
    }
    check_host_allocation(build_.prefix, "text and ids of a batch", batch_memory());
    const bool is_new = !path_exists(folder_);
    make_directories(folder_);
    try {
      return build();
    } catch (...) {
      // Of what took nothing yet, nothing stays.
      if (is_new && !path_exists(progress_path())) remove_tree(folder_);
      throw;
    }
  }

 private:
  TokenBuildResult build() {
    TokenBuildResult result;
    const FileLock lock(folder_ + "/lock");
    continue_progress();
    result.num_continued = progress_.counts.num_documents;
    skips_.add(progress_.skipped);
    if (!path_exists(parts() + ".idx") && !path_exists(token_card_path(parts()))) {
      if (!take_files()) {
        result.num_documents = progress_.counts.num_documents;
        return result;
      }
      save();
      writer_->finish();
    }
    if (!path_exists(token_card_path(parts())))
      replace_file(token_card_path(parts()), text_of_card(card()));
    move_into_place();
    result.card = *read_token_card(build_.prefix);
    result.num_documents = result.card.num_documents;
    result.is_finished = true;
    return result;
  }

  std::string parts() const { return folder_ + "/tokens"; }
  std::string progress_path() const { return folder_ + "/progress.json"; }

  // Returns false if the build is to stop.
  bool take_files() {
    writer_ = std::make_unique<TokenFileWriter>(parts(), token_dtype(tokenizer_->vocab_size()),
                                                progress_.counts);
    saved_ = std::chrono::steady_clock::now();
    while (progress_.sources.size() < files_.size()) {
      if (take_file()) continue;
      save();
      return false;
    }
    if (progress_.counts.num_documents > 0) return true;
    throw DataError(no_document(build_.sources, skips_.skipped()));
  }

  int64_t batch_memory() const {
    return build_.batch_bytes * (1 + tokenizer_->encode_bytes().of_text);
  }

  // Hash of all that determines the bytes, but the content of the files. What was left out of an
  // unfinished build stays so: another policy may continue it.
  uint64_t job() const {
    std::string what = fmt::format("{:x} {} {} {} {}", tokenizer_->fingerprint(),
                                   to_text(build_.unit), build_.begins, build_.ends, build_.field);
    if (build_.part_bytes) what += fmt::format(" parts of {}", *build_.part_bytes);
    for (size_t i = 0; i < files_.size(); ++i) what += fmt::format("\n{} {}", sizes_[i], files_[i]);
    return xxh3_64(what);
  }

  // Returns the card of this very build; throws if something else is there.
  std::optional<TokenCard> finished_before() const {
    if (path_exists(token_card_path(parts()))) return std::nullopt;  // moving into place
    for (const char* ending : {".bin", ".idx", ".json"}) {
      const std::string path = build_.prefix + ending;
      if (!path_exists(path)) continue;
      try {
        const auto card = read_token_card(build_.prefix);
        if (card && is_this_build(*card)) return card;
      } catch (const DataError&) {
        // Some other file.
      }
      throw DataError(fmt::format(
          "{}: expected nothing there, or the tokens of this very build, got another file; remove "
          "it, or choose another --out",
          path));
    }
    return std::nullopt;
  }

  bool is_this_build(const TokenCard& card) const {
    if (card.tokenizer.fingerprint != tokenizer_->fingerprint() || card.begins != build_.begins ||
        card.ends != build_.ends || card.field != build_.field ||
        card.unit != to_text(build_.unit) || card.sources.size() != files_.size())
      return false;
    for (size_t i = 0; i < files_.size(); ++i) {
      if (card.sources[i].path != text_of_path(files_[i]) || card.sources[i].num_bytes != sizes_[i])
        return false;
    }
    return true;
  }

  void continue_progress() {
    const auto before = read_progress(progress_path());
    if (!before) return;
    const bool has_next = before->sources.size() < files_.size();
    if (before->job != progress_.job || (before->num_taken > 0 && !has_next)) {
      throw DataError(fmt::format(
          "{}: expected an unfinished build of the same sources, tokenizer and flags, got another; "
          "give them again, or remove this folder",
          folder_));
    }
    progress_ = *before;
    for (const HashedFile& file : progress_.sources) count_done(file);
    if (progress_.num_taken == 0) return;
    const std::string& file = files_[progress_.sources.size()];
    if (const std::string now = state_of_file(file); now != progress_.next_file) {
      throw DataError(
          fmt::format("{}: expected the file that the build began with ({}), got {}; remove {} to "
                      "begin anew",
                      file, progress_.next_file, now, folder_));
    }
  }

  // Returns false if the build is to stop.
  bool take_file() {
    const std::string& path = files_[progress_.sources.size()];
    progress_.next_file = state_of_file(path);
    FileHash hash(path);
    std::unique_ptr<CorpusReader> reader;
    HashedFile done{.path = text_of_path(path), .num_bytes = sizes_[progress_.sources.size()]};
    const bool is_read = read_from(path, [&] {
      reader = std::make_unique<CorpusReader>(
          path, CorpusFormat{build_.field, build_.unit, build_.only_plain_text, build_.part_bytes});
      for (int64_t i = 0; i < progress_.num_taken; ++i) reader->next();
    });
    std::vector<RawDocument> batch;
    while (is_read && read_from(path, [&] { batch = next_batch(*reader); }) && !batch.empty()) {
      take_batch(path, batch, reader->is_json());
      if (hooks_.report) hooks_.report(report());
      if (hooks_.should_stop && hooks_.should_stop()) return false;
      save_now_and_then();
    }
    read_from(path, [&] { done.sha256 = hash.get(); });
    done.num_documents = progress_.counts.num_documents - documents_of_done_;
    count_done(done);
    progress_.sources.push_back(std::move(done));
    progress_.num_taken = 0;
    progress_.next_file.clear();
    if (hooks_.report) hooks_.report(report());
    return !hooks_.should_stop || !hooks_.should_stop();
  }

  void count_done(const HashedFile& file) {
    documents_of_done_ += file.num_documents;
    bytes_of_done_ += file.num_bytes;
  }

  template <class Fn>
  bool read_from(const std::string& path, const Fn& read) {
    return read_or_leave_out(path, skips_, read);
  }

  std::vector<RawDocument> next_batch(CorpusReader& reader) const {
    constexpr size_t kMostDocuments = 65536;
    std::vector<RawDocument> out;
    for (int64_t bytes = 0; bytes < build_.batch_bytes && out.size() < kMostDocuments;) {
      auto document = reader.next();
      if (!document) break;
      bytes += std::ssize(document->bytes);
      out.push_back(std::move(*document));
    }
    return out;
  }

  void take_batch(const std::string& path, std::vector<RawDocument>& batch, bool is_json) {
    std::vector<EncodedDocument> encoded(batch.size());
    parallel_for(std::ssize(batch), 1, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
        encoded[i] = encode(corpus_text(path, std::move(batch[i]), is_json, build_.field));
    });
    for (const EncodedDocument& one : encoded) {
      ++progress_.num_taken;
      if (one.left_out.reason.empty())
        add(one);
      else
        leave_out(one.left_out, skips_);
    }
  }

  void add(const EncodedDocument& one) {
    writer_->add(one.ids);
    progress_.text_bytes += one.text_bytes;
    progress_.piece_bytes += one.piece_bytes;
    progress_.counts = writer_->counts();
  }

  // The memory of a build is that of a batch, but for documents that are larger than one.
  void check_fits(const std::string& where, std::string_view text) const {
    try {
      check_host_allocation(where,
                            fmt::format("the ids of {} of text", bytes_text(std::ssize(text))),
                            tokenizer_->encode_memory(text));
    } catch (const Error& error) {
      throw Error(
          fmt::format("{}; split the document, or read it by lines or paragraphs", error.what()),
          error.code());
    }
  }

  EncodedDocument encode(CorpusText document) const {
    EncodedDocument out;
    const std::string text = std::exchange(document.text, {});
    if (!document.reason.empty()) {
      out.left_out = std::move(document);
      return out;
    }
    if (std::ssize(text) > build_.batch_bytes) check_fits(document.where, text);
    if (special_.bos && document.begins) out.ids.push_back(*special_.bos);
    const std::vector<int32_t> ids = tokenizer_->encode(text);
    out.ids.insert(out.ids.end(), ids.begin(), ids.end());
    if (special_.eos && document.ends) out.ids.push_back(*special_.eos);
    out.text_bytes = std::ssize(text);
    for (const int32_t id : ids) out.piece_bytes += piece_sizes_[static_cast<size_t>(id)];
    return out;
  }

  TokenBuildProgress report() const {
    TokenBuildProgress out{.num_files = std::ssize(files_),
                           .num_files_done = std::ssize(progress_.sources),
                           .num_bytes = all_bytes_,
                           .num_bytes_done = bytes_of_done_,
                           .num_documents = progress_.counts.num_documents,
                           .num_tokens = progress_.counts.num_tokens,
                           .text_bytes = progress_.text_bytes};
    return out;
  }

  void save_now_and_then() {
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - saved_;
    if (since.count() >= build_.save_secs) save();
  }

  // First the ids, then what says how many of them count.
  void save() {
    writer_->sync();
    progress_.skipped = skips_.skipped();
    replace_file(progress_path(), text_of_progress(progress_));
    saved_ = std::chrono::steady_clock::now();
  }

  std::string name_of_part(const std::string& part) const {
    return std::filesystem::path(build_.prefix + part).filename().string();
  }

  TokenCard card() const {
    const auto hashed = [&](const std::string& part) {
      return HashedFile{.path = text_of_path(name_of_part(part)),
                        .num_bytes = file_bytes(parts() + part),
                        .sha256 = sha256_of_file(parts() + part)};
    };
    return {.tokenizer = {.class_name = std::string(build_.tokenizer.any().type().name),
                          .path = text_of_path(build_.tokenizer_path),
                          .sha256 = build_.tokenizer_path.empty()
                                        ? ""
                                        : sha256_of_file(build_.tokenizer_path),
                          .fingerprint = tokenizer_->fingerprint(),
                          .vocab_size = tokenizer_->vocab_size(),
                          .special = tokenizer_->special_ids()},
            .begins = build_.begins,
            .ends = build_.ends,
            .field = build_.field,
            .unit = std::string(to_text(build_.unit)),
            .num_documents = progress_.counts.num_documents,
            .num_tokens = progress_.counts.num_tokens,
            .text_bytes = progress_.text_bytes,
            .piece_bytes = progress_.piece_bytes,
            .ids = hashed(".bin"),
            .index = hashed(".idx"),
            .sources = progress_.sources,
            .skipped = skips_.skipped()};
  }

  // A build that ends in between continues here: what is moved already is not there any more.
  void move_into_place() const {
    const auto move = [&](const std::string& from, const std::string& to) {
      if (path_exists(from)) rename_durably(from, to);
    };
    move(parts() + ".bin", build_.prefix + ".bin");
    move(parts() + ".idx", build_.prefix + ".idx");
    move(token_card_path(parts()), token_card_path(build_.prefix));
    remove_tree(folder_);
  }

  const TokenBuild& build_;
  const TokenBuildHooks& hooks_;
  std::unique_ptr<Tokenizer> tokenizer_;
  SpecialIds special_;
  SkipLog skips_;
  std::string folder_;
  std::vector<int64_t> piece_sizes_;
  std::vector<std::string> files_;
  std::vector<int64_t> sizes_;
  int64_t all_bytes_ = 0;
  int64_t documents_of_done_ = 0, bytes_of_done_ = 0;  // of files that are done
  BuildProgress progress_;
  std::unique_ptr<TokenFileWriter> writer_;
  std::chrono::steady_clock::time_point saved_;
};

}  // namespace

TokenBuildResult build_token_file(const TokenBuild& build, const TokenBuildHooks& hooks) {
  return TokenBuilder(build, hooks).run();
}

}  // namespace axle
