#include "data/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/lists.h"
#include "config/register.h"
#include "data/packing.h"

namespace axle {

void check_batch_size(int64_t batch_size, int64_t seq_len, const Scope& scope,
                      const BatchFields& fields) {
  const int64_t values = 4 + (fields.prefix_lengths ? 1 : 0) + fields.num_streams;
  const int64_t bytes_of_position = values * static_cast<int64_t>(sizeof(int32_t));
  const std::string batch = fmt::format(
      "{}: expected a batch that fits into memory, got batch_size {} rows of seq_len {}",
      scope.path, batch_size, seq_len);
  const auto positions = checked_product(batch_size, seq_len);
  const auto bytes = positions ? checked_product(*positions, bytes_of_position) : std::nullopt;
  if (!bytes) throw ConfigError(batch + ", which are more than 2^63 bytes");
  const int64_t memory = host_memory().total_bytes;
  if (memory > 0 && *bytes > memory) {
    throw Error(fmt::format("{}, which are {} bytes; this machine has {}", batch, *bytes, memory),
                ExitCode::kDoesNotFit);
  }
}

Tree<Type> batch_spec(int64_t batch_size, int64_t seq_len, const BatchFields& fields) {
  Tree<Type> spec;
  for (const char* name : {"input_ids", "target_labels", "input_segment_ids", "input_positions"}) {
    spec.emplace(name, Type{DType::kI32, {batch_size, seq_len}});
  }
  if (fields.prefix_lengths)
    spec.emplace("prefix_lengths", Type{DType::kI32, {batch_size, seq_len}});
  if (fields.num_streams > 0) {
    spec.emplace("position_streams", Type{DType::kI32, {batch_size, seq_len, fields.num_streams}});
  }
  if (fields.is_pair) spec.emplace("is_pair", Type{DType::kI32, {batch_size}});
  return spec;
}

Batch make_batch(int64_t batch_size, int64_t seq_len, const BatchFields& fields) {
  Batch batch;
  for (const auto& [name, type] : batch_spec(batch_size, seq_len, fields))
    batch.tensors.emplace(name, HostTensor(type));
  for (int64_t i = 0; i < batch_size; ++i) fill_padding(row_of(batch, i));
  return batch;
}

RowView row_of(Batch& batch, int64_t i) {
  const auto row = [&](std::string_view name) -> std::span<int32_t> {
    const auto found = batch.tensors.find(name);
    if (found == batch.tensors.end()) return {};
    HostTensor& tensor = found->second;
    const auto size = static_cast<size_t>(tensor.size() / tensor.shape()[0]);
    return tensor.values<int32_t>().subspan(static_cast<size_t>(i) * size, size);
  };
  return {row("input_ids"),       row("target_labels"),  row("input_segment_ids"),
          row("input_positions"), row("prefix_lengths"), row("position_streams"),
          row("is_pair")};
}

void count_targets(Batch& batch, const RowView& row, std::span<const double> text_bytes) {
  for (const int32_t label : row.target_labels) {
    if (label == kIgnoredLabel) continue;
    ++batch.num_targets;
    batch.num_target_bytes += text_bytes[label];
  }
}

int64_t num_real_positions(const Batch& batch) {
  const auto segments = batch.tensors.find("input_segment_ids");
  if (segments == batch.tensors.end()) return batch.num_targets;
  const std::span<const int32_t> ids = segments->second.values<int32_t>();
  return std::ssize(ids) - std::ranges::count(ids, 0);
}

void StreamRule::fill(std::span<const int32_t> ids, std::span<int32_t> out) const {
  int32_t token = 0, line = 0, column = 0;
  size_t at = 0;
  for (const int32_t id : ids) {
    for (const PositionStream stream : streams) {
      out[at++] = stream == PositionStream::kToken  ? token
                  : stream == PositionStream::kLine ? line
                                                    : column;
    }
    const auto index = static_cast<size_t>(id);
    const int32_t breaks = index < line_breaks.size() ? line_breaks[index] : 0;
    ++token;
    line += breaks;
    column = breaks > 0 ? 0 : column + 1;
  }
}

StreamRule stream_rule(std::vector<PositionStream> streams, const Tokenizer& tokenizer) {
  StreamRule out{.streams = std::move(streams)};
  if (out.streams.empty()) return out;
  for (int64_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string_view piece = tokenizer.piece(static_cast<int32_t>(id));
    out.line_breaks.push_back(static_cast<int32_t>(std::ranges::count(piece, '\n')));
  }
  return out;
}

std::optional<size_t> Prompt::bytes_of(std::string_view text) const {
  if (!until) return std::nullopt;
  const size_t at = text.find(*until);
  return at == std::string_view::npos ? 0 : at + until->size();
}

int64_t Prompt::share_of(int64_t num_tokens) const {
  return static_cast<int64_t>(share * static_cast<double>(num_tokens));
}

AXLE_REGISTER(Prompt)

}  // namespace axle
