// The values of templates: Python's, as far as Jinja2 shows them.
//
// Texts, lists and mappings never change once they are made (the sandbox of Jinja2 forbids it too),
// so copies share them. Only namespaces change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace axle::jinja {

// Limits on what the rendering of a template may take. Templates come with models of others: a loop
// without end or a text that doubles itself must end in an error.

/// Describes what is wrong in a template or in the values given to it, without the location.
/// Callers that know the line convert it into a DataError.
struct JinjaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What `raise_exception(message)` throws: the template refuses the values.
struct Refusal : JinjaError {
  using JinjaError::JinjaError;
};

/// Levels of expressions, blocks and calls inside of each other.
inline constexpr int kMaxDepth = 1000;
/// Levels of lists and mappings inside of each other.
inline constexpr int kMaxValueDepth = 200;
/// Elements of a range(), as Jinja2's sandbox has it.
inline constexpr int64_t kMaxRange = 100'000;

struct Limits {
  /// Expressions, loop rounds and elements visited.
  int64_t max_steps = 5'000'000;
  /// Bytes of all texts and lists made, also of those no longer needed.
  int64_t max_bytes = int64_t{256} << 20;
  /// Bytes of one text or list.
  int64_t max_value_bytes = int64_t{64} << 20;
  int64_t max_output_bytes = int64_t{64} << 20;
};

/// What is left of the limits. Throws JinjaError when it is used up.
class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}
  void step(size_t count = 1) {
    steps_ += static_cast<int64_t>(count);
    if (steps_ > limits_.max_steps) fail_steps();
  }
  /// Call it before the bytes are allocated.
  void bytes(size_t count) {
    check_bytes(count);
    bytes_ += static_cast<int64_t>(count);
    if (bytes_ > limits_.max_bytes) fail_bytes();
  }
  /// Refuses a text or list that is larger than one may be.
  void check_bytes(size_t count) const {
    if (count > static_cast<size_t>(limits_.max_value_bytes)) fail_value_bytes();
  }
  void check_output(size_t size) const {
    if (size > static_cast<size_t>(limits_.max_output_bytes)) fail_output();
  }
  /// A level of depth, for as long as it lives.
  class Level {
   public:
    explicit Level(Budget& budget) : budget_(&budget) {
      if (++budget.depth_ > kMaxDepth) {
        --budget.depth_;
        fail_depth();
      }
    }
    ~Level() { --budget_->depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Budget* budget_;
  };

 private:
  [[noreturn]] void fail_steps() const;
  [[noreturn]] void fail_bytes() const;
  [[noreturn]] void fail_value_bytes() const;
  [[noreturn]] void fail_output() const;
  [[noreturn]] static void fail_depth();

  Limits limits_;
  int64_t steps_ = 0, bytes_ = 0;
  int depth_ = 0;
};

class Object;
class Value;

enum class ListKind { kList, kTuple };
struct List;
struct Dict;

/// A value that does not exist, with the message of the error that its use raises.
struct Undefined {
  std::shared_ptr<const std::string> message = {};
};
struct None {};

class Value {
 public:
  Value() : data_(None{}) {}
  Value(Undefined v) : data_(std::move(v)) {}
  Value(bool v) : data_(v) {}
  Value(int v) : data_(int64_t{v}) {}
  Value(int64_t v) : data_(v) {}
  Value(double v) : data_(v) {}
  Value(std::string v) : data_(std::make_shared<const std::string>(std::move(v))) {}
  Value(std::string_view v) : Value(std::string(v)) {}
  Value(const char* v) : Value(std::string(v)) {}
  Value(std::shared_ptr<const List> v) : data_(std::move(v)) {}
  Value(std::shared_ptr<const Dict> v) : data_(std::move(v)) {}
  Value(std::shared_ptr<Object> v) : data_(std::move(v)) {}
  /// Without it, pointers would become booleans.
  template <class T>
  Value(T*) = delete;

  static Value undefined(std::string message);
  /// A text that the filters `safe` and `escape` made: what is added to it is escaped.
  static Value markup(std::string text);
  /// Throw JinjaError for too many levels.
  static Value list(std::vector<Value> elements, ListKind kind = ListKind::kList);
  static Value tuple(std::vector<Value> elements) {
    return list(std::move(elements), ListKind::kTuple);
  }
  /// The keys must be unlike each other.
  static Value dict(std::vector<std::pair<Value, Value>> items);
  /// Throws JinjaError for integers beyond 64 bits and for too many levels.
  static Value of_json(const nlohmann::ordered_json& json);

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  /// True also for booleans, as in Python.
  bool is_integer() const { return std::holds_alternative<int64_t>(data_) || is_bool(); }
  bool is_float() const { return std::holds_alternative<double>(data_); }
  bool is_number() const { return is_integer() || is_float(); }
  bool is_text() const { return std::holds_alternative<std::shared_ptr<const std::string>>(data_); }
  bool is_markup() const { return is_markup_; }
  bool is_list() const { return std::holds_alternative<std::shared_ptr<const List>>(data_); }
  bool is_dict() const { return std::holds_alternative<std::shared_ptr<const Dict>>(data_); }
  bool is_object() const { return std::holds_alternative<std::shared_ptr<Object>>(data_); }

  /// Each may be called for its type alone.
  bool boolean() const { return std::get<bool>(data_); }
  int64_t integer() const { return is_bool() ? int64_t{boolean()} : std::get<int64_t>(data_); }
  double number() const {
    return is_float() ? std::get<double>(data_) : static_cast<double>(integer());
  }
  const std::string& text() const { return *std::get<std::shared_ptr<const std::string>>(data_); }
  const List& list() const { return *std::get<std::shared_ptr<const List>>(data_); }
  const Dict& dict() const { return *std::get<std::shared_ptr<const Dict>>(data_); }
  const std::shared_ptr<Object>& object() const { return std::get<std::shared_ptr<Object>>(data_); }
  /// Returns the object if it is a T, or nullptr.
  template <class T>
  T* as() const {
    return is_object() ? dynamic_cast<T*>(object().get()) : nullptr;
  }

  /// "'x' is undefined" and the like; for undefined values.
  const std::string& undefined_message() const;
  /// Python's name: "str", "list", "NoneType".
  std::string_view type_name() const;
  bool is_true() const;
  int depth() const;
  /// True if both are the same thing in memory, or equal small values: Python's `is`.
  bool is_same(const Value& other) const;

 private:
  std::variant<None, Undefined, bool, int64_t, double, std::shared_ptr<const std::string>,
               std::shared_ptr<const List>, std::shared_ptr<const Dict>, std::shared_ptr<Object>>
      data_;
  bool is_markup_ = false;
};

struct List {
  ListKind kind = ListKind::kList;
  std::vector<Value> elements = {};
  int depth = 1;  // levels of lists and mappings
};
struct Dict {
  std::vector<std::pair<Value, Value>> items = {};  // in the order of insertion
  int depth = 1;
};

/// Arguments of a call.
struct Arguments {
  std::vector<Value> positional = {};
  std::vector<std::pair<std::string, Value>> named = {};
};

class Machine;

/// A value with behaviour: a function, a namespace, a loop, a range, an iterator.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string_view type_name() const = 0;
  virtual std::string repr(Machine&) const;
  virtual bool is_true() const { return true; }
  virtual bool is_callable() const { return false; }
  /// Returns none if there is no such attribute.
  virtual std::optional<Value> attribute(std::string_view) { return std::nullopt; }
  virtual Value call(Machine&, const Arguments&);
  virtual bool is_iterable() const { return false; }
  /// Returns what iterating yields; iterators are then used up.
  virtual std::vector<Value> take_elements(Machine&);
  /// None: it has no length.
  virtual std::optional<int64_t> length() const { return std::nullopt; }
  /// True if it has both a length and elements by number.
  virtual bool is_sequence() const { return false; }
  /// Levels of lists and mappings that it holds.
  virtual int depth() const { return 0; }
  /// Forgets what it holds, so that objects which hold each other are freed.
  virtual void clear() {}
};

/// Equality as Python has it: 1 == 1.0 == True.
bool equals(const Value& a, const Value& b, Budget& budget);
/// Returns the index of the key in the mapping; none if it is not there.
std::optional<size_t> find_key(const Dict& dict, const Value& key, Budget& budget);
/// Returns the value of a text key; nullptr if it is not there.
const Value* find_text_key(const Dict& dict, std::string_view key);
/// Throws JinjaError unless the value may be a key.
void check_hashable(const Value& key);
/// Adds the item, or replaces that of an equal key.
void put_item(std::vector<std::pair<Value, Value>>& items, Value key, Value value, Budget& budget);

/// Returns the levels of a value that holds these. Throws JinjaError if they are too many.
int depth_around(const std::vector<Value>& elements);

/// Throws JinjaError with the message of the undefined value, if it is one.
void require_defined(const Value& value);

}  // namespace axle::jinja
