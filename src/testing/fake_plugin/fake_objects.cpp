#include "testing/fake_plugin/fake_objects.h"

#include <cstring>

namespace axle::testing {

FakeControl& control() {
  static FakeControl instance;
  return instance;
}

}  // namespace axle::testing

namespace axle::pjrt {

Event::Event(Work work, bool is_transfer) : is_transfer_(is_transfer) {
  if (!testing::control().threaded) {
    failure_ = work();
    done_ = true;
    return;
  }
  thread_ = std::thread([this, work = std::move(work)] {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return released_; });
    failure_ = work();
    done_ = true;
    changed_.notify_all();
  });
}

Event::~Event() {
  if (is_transfer_ && !awaited_) ++testing::control().transfers_not_awaited;
  release();
  if (thread_.joinable()) thread_.join();
}

void Event::release() {
  const std::lock_guard lock(mutex_);
  released_ = true;
  changed_.notify_all();
}

Error* Event::await() {
  release();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_; });
  awaited_ = true;
  return failure_ ? new Error(testing::control().fail_code, *failure_) : nullptr;
}

size_t element_size(BufferType type) {
  switch (type) {
    case BufferType::kPred:
    case BufferType::kS4:
    case BufferType::kU4:
    case BufferType::kS8:
    case BufferType::kU8:
    case BufferType::kF8E4M3FN:
    case BufferType::kF8E5M2:
      return 1;
    case BufferType::kS16:
    case BufferType::kU16:
    case BufferType::kF16:
    case BufferType::kBF16:
      return 2;
    case BufferType::kS64:
    case BufferType::kU64:
    case BufferType::kF64:
    case BufferType::kC64:
      return 8;
    case BufferType::kC128:
      return 16;
    default:
      return 4;
  }
}

std::vector<std::byte> reordered(const std::byte* data, const std::vector<int64_t>& dims,
                                 size_t element, bool to_row_major) {
  size_t count = 1;
  for (int64_t d : dims) count *= static_cast<size_t>(d);
  std::vector<std::byte> out(count * element);
  std::vector<int64_t> index(dims.size(), 0);  // advanced in row-major order
  for (size_t row_major = 0; row_major < count; ++row_major) {
    size_t column_major = 0;
    for (size_t d = dims.size(); d-- > 0;)
      column_major = column_major * static_cast<size_t>(dims[d]) + static_cast<size_t>(index[d]);
    const size_t from = to_row_major ? column_major : row_major,
                 to = to_row_major ? row_major : column_major;
    std::memcpy(out.data() + to * element, data + from * element, element);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

}  // namespace axle::pjrt
