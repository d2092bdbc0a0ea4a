// Finding libgradus_cuda.so, or saying why there is no CUDA. Each case is a process of its own: a library is looked for
// once.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include <gradus/gradus.h>

#include <gtest/gtest.h>

using namespace gradus;

namespace {

std::string program;

// What a process with these settings of the environment says.
std::string probe(const std::string& environment, const std::string& question = "--probe") {
  const std::string command = environment + " '" + program + "' " + question + " 2>&1";
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  char piece[4096];
  while (const size_t n = std::fread(piece, 1, sizeof piece, pipe)) text.append(piece, n);
  return text + (pclose(pipe) == 0 ? "ended" : "failed");
}

void answer_probe() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([] { cuda::is_available(); });
  for (std::thread& t : threads) t.join();
  std::printf("devices %zu, available %d, cudnn %d: %s\n", cuda::device_count(), cuda::is_available(),
              cuda::cudnn_is_available(), cuda::why_unavailable().c_str());
  cuda::synchronize();
  cuda::manual_seed(1);
  cuda::empty_cache();
  std::printf("%zu bytes\n", cuda::memory_allocated());
  try {
    cuda::set_device(0);
    std::printf("device %d\n", static_cast<int>(cuda::current_device()));
  } catch (const NotImplementedError& e) {
    std::printf("%s\n", e.what());
  }
}

// A seed that was given before the library was loaded.
void answer_seed() {
  manual_seed(77);
  std::printf("%zu devices", cuda::device_count());
  std::printf(", seed %lu\n", static_cast<unsigned long>(default_generator(kCUDA).current_seed()));
}

// Loading starts nothing that outlives a static object's tensors.
struct Late {
  void* data = nullptr;
  ~Late() { cuda::caching_allocator_delete(data); }
} late;

std::string emulated() {
  const char* library = std::getenv("GRADUS_CUDA_LIBRARY");
  return library ? library : "";
}

TEST(CudaLoader, AbsentLibrary) {
  const std::string text = probe("GRADUS_CUDA_LIBRARY=");
  if (text.find("available 1") != std::string::npos) GTEST_SKIP() << "this build has CUDA";
  EXPECT_NE(
      text.find("devices 0, available 0, cudnn 0: Gradus was built without CUDA: there is no libgradus_cuda.so in "),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("build Gradus with -DGRADUS_CUDA=ON"), std::string::npos) << text;
  EXPECT_NE(text.find("0 bytes\nset_device: Gradus was built without CUDA"), std::string::npos) << text;
  EXPECT_NE(text.find("ended"), std::string::npos) << text;
}

TEST(CudaLoader, LibraryThatCannotBeLoaded) {
  std::string text = probe("GRADUS_CUDA_LIBRARY=/nowhere/libgradus_cuda.so");
  EXPECT_NE(text.find("CUDA cannot be used: /nowhere/libgradus_cuda.so: cannot open"), std::string::npos) << text;
  EXPECT_NE(text.find("(named by GRADUS_CUDA_LIBRARY)"), std::string::npos) << text;
  text = probe("GRADUS_CUDA_LIBRARY=libpthread.so.0");
  EXPECT_NE(text.find("gradus_cuda_initialize"), std::string::npos) << text;
  EXPECT_NE(text.find("ended"), std::string::npos) << text;
}

TEST(CudaLoader, MachineWithoutADevice) {
  if (emulated().empty()) GTEST_SKIP() << "needs the emulation";
  const std::string text = probe("GRADUS_EMULATED_DEVICES=0");
  EXPECT_NE(text.find("devices 0, available 0, cudnn 0: CUDA cannot be used: "), std::string::npos) << text;
  EXPECT_NE(text.find("; Gradus goes on with the cpu"), std::string::npos) << text;
  EXPECT_NE(text.find("ended"), std::string::npos) << text;
}

TEST(CudaLoader, Usable) {
  if (emulated().empty()) GTEST_SKIP() << "needs the emulation";
  const std::string text = probe("GRADUS_EMULATED_DEVICES=3");
  EXPECT_NE(text.find("devices 3, available 1, "), std::string::npos) << text;
  EXPECT_NE(text.find("0 bytes\ndevice 0\nended"), std::string::npos) << text;
}

TEST(CudaLoader, AnEarlierSeedIsNotForgotten) {
  if (emulated().empty()) GTEST_SKIP() << "needs the emulation";
  EXPECT_EQ(probe("GRADUS_EMULATED_DEVICES=1", "--seed"), "1 devices, seed 77\nended");
}

TEST(CudaLoader, UnknownAllocatorSettings) {
  if (emulated().empty()) GTEST_SKIP() << "needs the emulation";
  const std::string text = probe("GRADUS_CUDA_ALLOC_CONF=max_split:5", "--late");
  EXPECT_NE(text.find("GRADUS_CUDA_ALLOC_CONF: there is no setting \"max_split\"; known are max_split_size_mb, "
                      "garbage_collection_threshold, expandable_segments, roundup_power2_divisions and passthrough"),
            std::string::npos)
      << text;
}

TEST(CudaLoader, MemoryIsFreedAtTheEnd) {
  if (emulated().empty()) GTEST_SKIP() << "needs the emulation";
  EXPECT_EQ(probe("GRADUS_EMULATED_DEVICES=1", "--late"), "allocated\nended");
  EXPECT_EQ(probe("GRADUS_CUDA_ALLOC_CONF=passthrough:true", "--late"), "allocated\nended");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--probe") == 0) {
    answer_probe();
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "--seed") == 0) {
    answer_seed();
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "--late") == 0) {
    try {
      late.data = cuda::caching_allocator_alloc(1000);
      cuda::record_stream(late.data, cuda::getStreamFromPool());
      std::printf("allocated\n");
    } catch (const Error& e) {
      std::printf("%s\n", e.what());
    }
    return 0;
  }
  program = std::filesystem::read_symlink("/proc/self/exe").string();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
