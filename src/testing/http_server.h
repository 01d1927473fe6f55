// A web server for tests on this machine: answers what a function returns, one request at a time.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace axle {

struct TestRequest {
  std::string path;  // "/simple/pkg/"
  std::string head;  // the whole head, with all headers
};

struct TestResponse {
  int status = 200;
  std::string body = {};
  std::map<std::string, std::string> headers = {};
  /// The Content-Length exceeds the body by this many bytes, so that the connection ends in the
  /// middle.
  size_t missing_bytes = 0;
};

class HttpServer {
 public:
  using Handler = std::function<TestResponse(const TestRequest&)>;

  explicit HttpServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (listener_ < 0 || ::bind(listener_, generic, size) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, generic, &size) != 0)
      throw std::runtime_error("no socket on the loopback device");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpServer() {
    ::shutdown(listener_, SHUT_RDWR);  // wakes accept()
    thread_.join();
    ::close(listener_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// "http://127.0.0.1:PORT" + path.
  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  /// Returns the requests received so far.
  std::vector<TestRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    while (true) {
      const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      answer(connection);
      ::close(connection);
    }
  }

  void answer(int connection) {
    std::string head;
    char piece[4096];
    while (head.find("\r\n\r\n") == head.npos) {
      const ssize_t n = ::recv(connection, piece, sizeof piece, 0);
      if (n <= 0) return;
      head.append(piece, static_cast<size_t>(n));
    }
    const size_t begin = head.find(' ') + 1;
    const TestRequest request{head.substr(begin, head.find(' ', begin) - begin), head};
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const TestResponse response = handler_(request);
    std::string out = "HTTP/1.1 " + std::to_string(response.status) +
                      " Test\r\nConnection: close\r\nContent-Length: " +
                      std::to_string(response.body.size() + response.missing_bytes) + "\r\n";
    for (const auto& [name, value] : response.headers) out += name + ": " + value + "\r\n";
    out += "\r\n" + response.body;
    for (size_t sent = 0; sent < out.size();) {
      const ssize_t n = ::send(connection, out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return;  // the client closed the connection
      sent += static_cast<size_t>(n);
    }
  }

  Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<TestRequest> requests_;
  std::thread thread_;
};

}  // namespace axle
