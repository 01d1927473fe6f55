// Loops from the last element of a container to the first.
#pragma once

#include <iterator>
#include <utility>

namespace axle {

/// `for (const auto& x : Reversed(container))`. A temporary container lives as long as the loop.
/// In place of std::views::reverse, which clang before 16 does not compile with g++'s library.
template <class Container>
class Reversed {
 public:
  explicit Reversed(Container&& container) : container_(std::forward<Container>(container)) {}
  auto begin() const { return std::rbegin(container_); }
  auto end() const { return std::rend(container_); }

 private:
  Container container_;
};
template <class Container>
Reversed(Container&&) -> Reversed<Container>;

}  // namespace axle
