#include "evaluate/task/few_shot.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace axle {
namespace {

constexpr uint32_t kSeed = 1234;

}  // namespace

FewShot::FewShot(const TaskConfig& task)
    : count_(task.num_fewshot), sampler_(task.sampler), random_(kSeed) {
  if (count_ == 0) return;
  const auto& first = task.training_split     ? task.training_split
                      : task.validation_split ? task.validation_split
                                              : task.test_split;
  split_ = task.fewshot_split ? *task.fewshot_split : *first;
  leaves_out_ = task.fewshot_split == task.test_split;
  documents_ = read_task_split(task.data_files.at(split_));
  texts_.emplace_back(task.fewshot_doc, documents_.fields);
}

std::vector<const TaskDocument*> FewShot::chosen(const TaskDocument& document) {
  const auto n = static_cast<size_t>(count_);
  const auto is_other = [&](const TaskDocument& one) {
    return !leaves_out_ || one.text != document.text;
  };
  std::vector<const TaskDocument*> out, others;
  for (const TaskDocument& one : documents_.documents) {
    if (is_other(one)) others.push_back(&one);
  }
  const size_t least = n + (leaves_out_ && sampler_ == FewShotSampler::kDefault ? 1 : 0);
  if (others.size() < n || documents_.documents.size() < least) {
    throw DataError(
        fmt::format("{}: expected at least {} other documents in the split '{}' to come before the "
                    "question (num_fewshot), got {}",
                    document.where, n, split_, others.size()));
  }
  if (sampler_ == FewShotSampler::kFirstN) return {others.begin(), others.begin() + count_};
  // One more is drawn than needed, in case the document itself is drawn.
  for (const size_t i : random_.sample(documents_.documents.size(), least)) {
    const TaskDocument& one = documents_.documents[i];
    if (is_other(one) && out.size() < n) out.push_back(&one);
  }
  if (out.size() == n) return out;
  out.clear();
  for (const size_t i : random_.sample(others.size(), n)) out.push_back(others[i]);
  return out;
}

void FewShot::restart() { random_ = PythonRandom(kSeed); }

std::string FewShot::before(const TaskDocument& document) {
  std::string out;
  if (count_ == 0) return out;
  for (const TaskDocument* one : chosen(document)) out += texts_[0].solved(*one);
  return out;
}

}  // namespace axle
