#include "data/token_files/make_token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/host_memory.h"
#include "base/parallel.h"
#include "data/token_files/corpus_reader.h"
#include "data/token_files/token_card.h"
#include "io/file.h"
#include "io/file_lock.h"
#include "io/token_file.h"

namespace axle {
namespace {

// Of the files of a build, the card last: with it, all are there.
constexpr auto kEndings =
    std::to_array<const char*>({".learned.bin", ".learned.idx", ".bin", ".idx", ".json"});

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

// A file of the same state is not read again.
bool is_changed(const HashedFile& source, const std::string& path) {
  if (source.state == state_of_file(path) || source.sha256.empty()) return false;
  return storage_error_as<DataError>([&] { return sha256_of_file(path); }) != source.sha256;
}

class TokenBuilder {
 public:
  TokenBuilder(const TokenWork& work, const TokenMaker& maker, const TokenBuildHooks& hooks)
      : work_(work),
        maker_(maker),
        hooks_(hooks),
        made_(maker.card()),
        skips_(work.on_error, work.on_error_field),
        unfit_(work.on_unfit, work.on_unfit_field),
        folder_(unfinished_folder(work.prefix)) {
    check_prefix(work.prefix);
    SkipLog listed(work.on_error, work.on_error_field);
    files_ = maker.files(work.sources, listed);
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
    check_host_allocation(work_.prefix, "text and ids of a batch", batch_memory());
    const bool is_new = !path_exists(folder_);
    make_directories(folder_);
    try {
      return build();
    } catch (const StorageError& error) {
      if (remove_if_empty(is_new)) throw;
      throw StorageError(fmt::format(
          "{}; {} keeps what is done: the same command goes on from there once that is mended",
          error.what(), folder_));
    } catch (...) {
      remove_if_empty(is_new);
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
      if (flags_) flags_->finish();
      writer_->finish();
    }
    if (!path_exists(token_card_path(parts())))
      replace_file(token_card_path(parts()), text_of_card(card()));
    move_into_place();
    result.card = *read_token_card(work_.prefix);
    result.num_documents = result.card.num_documents;
    result.is_finished = true;
    return result;
  }

  // Of what took nothing yet, nothing stays: then returns true.
  bool remove_if_empty(bool is_new) const {
    const bool is_empty = is_new && !path_exists(progress_path());
    if (is_empty) remove_tree(folder_);
    return is_empty;
  }
  std::string parts() const { return folder_ + "/tokens"; }
  std::string progress_path() const { return folder_ + "/progress.json"; }

  // Returns false if the build is to stop.
  bool take_files() {
    writer_ = std::make_unique<TokenFileWriter>(
        parts(), token_dtype(maker_.tokenizer().vocab_size()), progress_.counts);
    // Flags are finished before ids: perhaps they were when the build ended.
    if (made_.learned && !path_exists(learned_prefix(parts()) + ".idx")) {
      flags_ =
          std::make_unique<TokenFileWriter>(learned_prefix(parts()), DType::kU8, progress_.counts);
    }
    saved_ = std::chrono::steady_clock::now();
    while (progress_.sources.size() < files_.size()) {
      if (take_file()) continue;
      save();
      return false;
    }
    if (progress_.counts.num_documents > 0) return true;
    throw DataError(maker_.nothing(all_skipped()));
  }

  int64_t batch_memory() const {
    return work_.batch_bytes * (1 + maker_.tokenizer().encode_bytes().of_text);
  }

  // Hash of all that determines the bytes, but the content of the files. What was left out of an
  // unfinished build stays so: another policy may continue it.
  uint64_t job() const {
    std::string what =
        fmt::format("{} {}", encoding_text(maker_.tokenizer(), boundaries()), maker_.job());
    for (size_t i = 0; i < files_.size(); ++i) what += fmt::format("\n{} {}", sizes_[i], files_[i]);
    return xxh3_64(what);
  }

  SpecialIds boundaries() const {
    return boundary_ids(maker_.tokenizer().special_ids(), made_.begins, made_.ends);
  }

  // Returns the card of this very build; throws if something else is there.
  std::optional<TokenCard> finished_before() const {
    if (path_exists(token_card_path(parts()))) return std::nullopt;  // moving to its final path
    for (const char* ending : kEndings) {
      const std::string path = work_.prefix + ending;
      if (!path_exists(path)) continue;
      if (auto card = card_of_this_build()) {
        check_unchanged(card->sources, files_there());
        return card;
      }
      throw DataError(fmt::format(
          "{}: expected nothing there, or the tokens of this very build, got another file; remove "
          "it, or choose another --out",
          path));
    }
    return std::nullopt;
  }

  // The files that are there, as a shell takes them: "tokens{.bin,.idx,.json}".
  std::string files_there() const {
    std::vector<std::string> endings;
    for (const char* ending : kEndings) {
      if (path_exists(work_.prefix + ending)) endings.push_back(ending);
    }
    return fmt::format("{}{{{}}}", work_.prefix, join(endings, ","));
  }

  std::optional<TokenCard> card_of_this_build() const {
    try {
      auto card = read_token_card(work_.prefix);
      if (card && is_this_build(*card)) return card;
    } catch (const DataError&) {
      // Some other file.
    }
    return std::nullopt;
  }

  // `made` are the first of the files, and `out` was made of them.
  void check_unchanged(const std::vector<HashedFile>& made, const std::string& out) const {
    for (size_t i = 0; i < made.size(); ++i) {
      if (!is_changed(made[i], files_[i])) continue;
      throw DataError(
          fmt::format("{}: expected the bytes that the tokens were made of, got others; remove {} "
                      "to start over, or choose another --out",
                      files_[i], out));
    }
  }

  bool is_this_build(const TokenCard& card) const {
    const auto settings = [](const TokenCard& one) {
      return one.learned ? one.learned->settings : "";
    };
    if (card.tokenizer.fingerprint != maker_.tokenizer().fingerprint() ||
        card.begins != made_.begins || card.ends != made_.ends ||
        card.boundaries() != boundaries() || card.field != made_.field || card.unit != made_.unit ||
        settings(card) != settings(made_) ||
        card.learned.has_value() != made_.learned.has_value() ||
        card.sources.size() != files_.size())
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
    check_unchanged(before->sources, folder_);
    progress_ = *before;
    for (const HashedFile& file : progress_.sources) count_done(file);
    if (progress_.num_taken == 0) return;
    const std::string& file = files_[progress_.sources.size()];
    if (const std::string now = state_of_file(file); now != progress_.next_file) {
      throw DataError(
          fmt::format("{}: expected the file that the build began with ({}), got {}; remove {} to "
                      "start over",
                      file, progress_.next_file, now, folder_));
    }
  }

  // Returns false if the build is to stop.
  bool take_file() {
    const std::string& path = files_[progress_.sources.size()];
    progress_.next_file = state_of_file(path);
    FileHash hash(path);
    std::unique_ptr<RecordReader> reader;
    HashedFile done{.path = text_of_path(path),
                    .num_bytes = sizes_[progress_.sources.size()],
                    .state = progress_.next_file};
    const bool is_read = read_from(path, [&] {
      reader = maker_.open(path);
      for (int64_t i = 0; i < progress_.num_taken; ++i) reader->next();
    });
    std::vector<RawDocument> batch;
    const auto next = [&](int64_t) { return reader->next(); };
    // The first mistakes are reported soon, also where a record takes long.
    int64_t bytes = std::min(work_.batch_bytes, int64_t{4} << 10);
    while (is_read && read_from(path, [&] { batch = next_documents(next, bytes); }) &&
           !batch.empty()) {
      take_batch(batch, *reader);
      bytes = std::min(work_.batch_bytes, 2 * bytes);
      if (hooks_.report) hooks_.report(report());
      if (hooks_.should_stop && hooks_.should_stop()) return false;
      save_now_and_then();
    }
    try {
      done.sha256 = hash.get();
    } catch (const StorageError& error) {
      // What could not be read at all is left out already.
      if (is_read) skips_.refuse("not readable", path, error.what());
    }
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

  void take_batch(std::vector<RawDocument>& batch, const RecordReader& reader) {
    std::vector<EncodedRecord> encoded(batch.size());
    parallel_for(std::ssize(batch), 1, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
        encoded[i] = reader.encode(std::move(batch[i]));
    });
    for (const EncodedRecord& one : encoded) {
      ++progress_.num_taken;
      if (one.reason.empty())
        add(one);
      else
        leave_out(one);
    }
  }

  void add(const EncodedRecord& one) {
    for (const EncodedDocument& document : one.documents) {
      writer_->add(document.ids);
      progress_.text_bytes += document.text_bytes;
      progress_.piece_bytes += document.piece_bytes;
      if (!flags_) continue;
      const std::vector<int32_t> flags(document.is_learned.begin(), document.is_learned.end());
      flags_->add(flags);
      progress_.num_learned += std::ranges::count_if(flags, [](int32_t flag) { return flag != 0; });
    }
    progress_.remarks += one.remarks;
    progress_.counts = writer_->counts();
  }

  void leave_out(const EncodedRecord& one) {
    SkipLog& log = one.is_unfit ? unfit_ : skips_;
    if (one.message.empty())
      log.skip(one.reason, one.where);
    else
      log.refuse(one.reason, one.where, one.message);
  }

  Skipped all_skipped() const {
    SkipLog all = skips_;
    all.add(unfit_.skipped());
    return all.skipped();
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
    if (since.count() >= work_.save_secs) save();
  }

  // First the ids, then what says how many of them count.
  void save() {
    writer_->sync();
    if (flags_) flags_->sync();
    progress_.skipped = all_skipped();
    replace_file(progress_path(), text_of_progress(progress_));
    saved_ = std::chrono::steady_clock::now();
  }

  std::string name_of_part(const std::string& part) const {
    return std::filesystem::path(work_.prefix + part).filename().string();
  }

  TokenCard card() const {
    const auto hashed = [&](const std::string& part) {
      return HashedFile{.path = text_of_path(name_of_part(part)),
                        .num_bytes = file_bytes(parts() + part),
                        .sha256 = sha256_of_file(parts() + part)};
    };
    TokenCard out = made_;
    const std::string& path = work_.tokenizer_path;
    out.tokenizer = {.class_name = std::string(work_.tokenizer.any().type().name),
                     .path = text_of_path(path),
                     .sha256 = path.empty() ? "" : sha256_of_file(path),
                     .fingerprint = maker_.tokenizer().fingerprint(),
                     .vocab_size = maker_.tokenizer().vocab_size(),
                     .special = maker_.tokenizer().special_ids()};
    out.num_documents = progress_.counts.num_documents;
    out.num_tokens = progress_.counts.num_tokens;
    // The names of special tokens are no text, and perhaps more than the text that stands there.
    out.text_bytes = std::max<int64_t>(progress_.text_bytes, 0);
    out.piece_bytes = progress_.piece_bytes;
    out.ids = hashed(".bin");
    out.index = hashed(".idx");
    if (out.learned) {
      out.learned->num_learned = progress_.num_learned;
      out.learned->flags = hashed(learned_prefix("") + ".bin");
      out.learned->index = hashed(learned_prefix("") + ".idx");
    }
    out.sources = progress_.sources;
    out.remarks = progress_.remarks;
    out.skipped = all_skipped();
    return out;
  }

  // A build that ends in between continues here: what is moved already is not there any more.
  void move_into_place() const {
    for (const char* ending : kEndings) {
      if (path_exists(parts() + ending)) rename_durably(parts() + ending, work_.prefix + ending);
    }
    remove_tree(folder_);
  }

  const TokenWork& work_;
  const TokenMaker& maker_;
  const TokenBuildHooks& hooks_;
  const TokenCard made_;  // what the documents are
  SkipLog skips_, unfit_;
  std::string folder_;
  std::vector<std::string> files_;
  std::vector<int64_t> sizes_;
  int64_t all_bytes_ = 0;
  int64_t documents_of_done_ = 0, bytes_of_done_ = 0;  // of files that are done
  BuildProgress progress_;
  std::unique_ptr<TokenFileWriter> writer_, flags_;
  std::chrono::steady_clock::time_point saved_;
};

}  // namespace

TokenBuildResult make_token_file(const TokenWork& work, const TokenMaker& maker,
                                 const TokenBuildHooks& hooks) {
  return TokenBuilder(work, maker, hooks).run();
}

}  // namespace axle
