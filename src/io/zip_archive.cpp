#include "io/zip_archive.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <zip.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text/text.h"
#include "io/file.h"
#include "io/file_reader.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

constexpr size_t kZipPieceBytes = size_t{1} << 20;

struct CloseZip {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, CloseZip>;
using Entry = std::unique_ptr<zip_file_t, CloseZip>;

Archive open_archive(const fs::path& path) {
  if (!path_exists(path)) fail_storage(path, "open", ENOENT);
  const FileReader regular(path);  // refuses a FIFO, for which the library would wait
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw DataError(fmt::format("{}: expected a zip archive, got: {}", path.string(), reason));
  }
  return archive;
}

/// True if an entry of this name stays below the folder into which it is unpacked.
bool stays_inside(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\\') != name.npos ||
      name.find('\0') != name.npos)
    return false;
  for (const std::string_view part : split(name, '/')) {
    if (part == "..") return false;
  }
  return true;
}

/// Returns the permissions and kind of an entry written on Unix; 0 for other systems.
mode_t mode_of(zip_t* archive, zip_uint64_t index) {
  zip_uint8_t system = 0;
  zip_uint32_t attributes = 0;
  if (zip_file_get_external_attributes(archive, index, 0, &system, &attributes) != 0 ||
      system != ZIP_OPSYS_UNIX)
    return 0;
  return static_cast<mode_t>(attributes >> 16);
}

void unpack_entry(zip_t* archive, zip_uint64_t index, const std::string& where,
                  const fs::path& file) {
  const Entry entry(zip_fopen_index(archive, index, 0));
  if (!entry) throw DataError(fmt::format("{}: can't be read: {}", where, zip_strerror(archive)));
  FileWriter writer(file);
  std::vector<char> piece(kZipPieceBytes);
  while (true) {
    const zip_int64_t size = zip_fread(entry.get(), piece.data(), piece.size());
    if (size < 0) {
      throw DataError(
          fmt::format("{}: can't be unpacked: {}", where, zip_file_strerror(entry.get())));
    }
    if (size == 0) break;
    writer.write(std::string_view(piece.data(), static_cast<size_t>(size)));
  }
  writer.close();
}

void unpack_into(const fs::path& archive_path, const fs::path& folder) {
  const Archive archive = open_archive(archive_path);
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(count); ++i) {
    const char* const raw_name = zip_get_name(archive.get(), i, ZIP_FL_ENC_RAW);
    const std::string name = raw_name ? raw_name : "";
    const std::string where = fmt::format("{}: entry '{}'", archive_path.string(), name);
    if (!stays_inside(name))
      throw DataError(where +
                      ": expected a path inside the folder of the archive, got one outside");
    const mode_t mode = mode_of(archive.get(), i);
    if (name.ends_with('/')) {
      make_directories(folder / name);
      continue;
    }
    if (const mode_t kind = mode & S_IFMT; kind != 0 && kind != S_IFREG)
      throw DataError(where + ": expected a plain file, got a link or another kind of file");
    make_directories((folder / name).parent_path());
    unpack_entry(archive.get(), i, where, folder / name);
    if (mode & S_IXUSR) {
      using fs::perms;
      fs::permissions(folder / name, perms::owner_exec | perms::group_exec | perms::others_exec,
                      fs::perm_options::add);
    }
  }
}

}  // namespace

void unpack_zip(const fs::path& archive, const fs::path& to) {
  if (path_exists(to)) fail_storage(to, "unpack into", EEXIST);
  fs::path partial = to;
  partial += ".unpacking";
  remove_tree(partial);
  try {
    make_directories(partial);
    unpack_into(archive, partial);
    rename_durably(partial, to);
  } catch (...) {
    remove_tree(partial);
    throw;
  }
}

}  // namespace axle
