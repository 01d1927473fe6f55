#include "ir/structure.h"

#include "base/hash.h"
#include "ir/op_rules.h"

namespace axle {
namespace {

// Appends a text that tells regions of different structure apart.
class Writer {
 public:
  void add(const Region& region) {
    // By id of the op: its place among the parameters and ops.
    std::vector<uint32_t> place(region.num_nodes() + 1, 0);
    uint32_t next = 0;
    add(region.parameters().size());
    for (const Tensor& p : region.parameters()) {
      place[p.node()->id] = next++;
      add(p.type());
    }
    const auto add_values = [&](const Values& values) {
      add(values.size());
      for (const Tensor& t : values) {
        add(place[t.node()->id]);
        add(t.index());
      }
    };
    add(region.ops().size());
    for (const OpNode* op : region.ops()) {
      place[op->id] = next++;
      add(op->rules->name());
      add(op->attributes ? op->attributes->text() : std::string());
      add_values(op->inputs);
      add(op->outputs.size());
      for (const Type& type : op->outputs) add(type);
      add(op->regions.size());
      for (const auto& inner : op->regions) add(*inner);
    }
    add_values(region.results());
  }
  const std::string& text() const { return text_; }

 private:
  void add(uint64_t number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  void add(std::string_view text) {
    add(text.size());
    text_.append(text);
  }
  void add(const Type& type) {
    add(static_cast<uint64_t>(type.dtype));
    add(type.dims.size());
    for (const int64_t d : type.dims) add(static_cast<uint64_t>(d));
  }
  std::string text_;
};

std::string structure_text(const Region& region) {
  Writer writer;
  writer.add(region);
  return writer.text();
}

}  // namespace

uint64_t structure_hash(const Region& region) { return xxh3_64(structure_text(region)); }

bool same_structure(const Region& a, const Region& b) {
  if (&a == &b) return true;
  return a.ops().size() == b.ops().size() && structure_text(a) == structure_text(b);
}

}  // namespace axle
