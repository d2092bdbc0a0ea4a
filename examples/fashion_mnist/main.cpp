// Trains a small convolutional network on Fashion-MNIST, shows how it goes, and leaves the weights and two pictures.
// A run that is killed goes on with --resume and ends with the same weights.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <gradus/gradus.h>

#include "charts.h"
#include "checkpoint.h"
#include "net.h"
#include "progress.h"

namespace {

using gradus::Tensor;
namespace data = gradus::data;

constexpr const char* kLabels[] = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                   "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
constexpr double kMean = 0.2860, kDeviation = 0.3530;  // of the training images
constexpr int64_t kTestBatch = 500;
constexpr int64_t kPointsPerEpoch = 40;  // of the training curve
constexpr size_t kShown = 40;            // test images in predictions.png

struct Options {
  int64_t epochs = 3, batch_size = 64;
  double lr = 1e-3, checkpoint_seconds = 5;
  uint64_t seed = 0;
  int threads = 0;  // 0: as many as the machine has
  std::string device = "cpu";
  std::string data = "/usr/share/datasets/fashion-mnist", out = "out/fashion_mnist";
  bool resume = false;
};

// The samples of one epoch in a given order, from a given place on.
class FixedOrder : public data::samplers::Sampler<> {
 public:
  FixedOrder(Tensor order, int64_t begin) : order_(std::move(order)), next_(begin) {}
  void reset(std::optional<size_t>) override {}
  std::optional<std::vector<size_t>> next(size_t batch_size) override {
    if (next_ >= order_.numel()) return std::nullopt;
    const int64_t end = std::min(next_ + static_cast<int64_t>(batch_size), order_.numel());
    const auto* order = order_.data_ptr<int64_t>();
    std::vector<size_t> batch(order + next_, order + end);
    next_ = end;
    return batch;
  }
  void save(gradus::serialize::OutputArchive&) const override {}
  void load(gradus::serialize::InputArchive&) override {}

 private:
  Tensor order_;
  int64_t next_;
};

auto prepared(data::datasets::MNIST images) {
  return std::move(images).map(data::transforms::Normalize<>(kMean, kDeviation)).map(data::transforms::Stack<>());
}

struct TestResult {
  double loss = 0, accuracy = 0;
};

class Trainer {
 public:
  explicit Trainer(const Options& options)
      : options_(options),
        train_(options.data, data::datasets::MNIST::Mode::kTrain),
        test_(options.data, data::datasets::MNIST::Mode::kTest),
        optimizer_(net_->parameters(), gradus::optim::AdamOptions(options.lr)),
        device_(options.device) {
    net_->to(device_);
    state_.seed = options.seed;
    state_.batch_size = options.batch_size;
    state_.lr = options.lr;
    state_.images = static_cast<int64_t>(*train_.size());
    order_random_ = gradus::make_generator(options.seed);
    if (state_.images == 0 || *test_.size() == 0) {
      throw std::runtime_error(options.data +
                               " holds no images; expected at least one for training and one for the test");
    }
  }

  // Goes on from the checkpoint; `seed`, `lr` and `batch_size` given on the command line must be the checkpoint's.
  void resume(bool seed_given, bool lr_given, bool batch_size_given) {
    if (!std::filesystem::exists(checkpoint_path())) {
      std::printf("No checkpoint in %s yet: starting from the beginning.\n", options_.out.c_str());
      return;
    }
    const TrainingState asked = state_;
    load_checkpoint(checkpoint_path(), state_, net_, optimizer_);
    const auto require = [this](bool same, const std::string& what) {
      if (!same)
        throw std::runtime_error(checkpoint_path() + " belongs to a run with " + what +
                                 "; give the same, or leave out --resume");
    };
    require(!seed_given || asked.seed == state_.seed, "--seed " + std::to_string(state_.seed));
    require(!lr_given || asked.lr == state_.lr, "--lr " + std::to_string(state_.lr));
    require(!batch_size_given || asked.batch_size == state_.batch_size,
            "--batch-size " + std::to_string(state_.batch_size));
    require(asked.images == state_.images, std::to_string(state_.images) + " training images");
    order_random_.set_state(state_.order_random);
    std::printf("Resuming after %lld epochs and %lld batches.\n", static_cast<long long>(state_.epoch),
                static_cast<long long>(state_.batch));
  }

  void run() {
    remove_half_written();
    if (state_.order_random.empty()) state_.order_random = order_random_.state();
    save_checkpoint(checkpoint_path(), state_, net_, optimizer_);  // also shows now that the folder can be written
    while (state_.epoch < options_.epochs) {
      train_epoch();
      const TestResult result = test();
      std::printf("epoch %lld/%lld  test loss %.4f  test accuracy %.2f %%\n", static_cast<long long>(state_.epoch + 1),
                  static_cast<long long>(options_.epochs), result.loss, 100 * result.accuracy);
      std::fflush(stdout);
      ++state_.epoch;
      state_.history.test.push_back({static_cast<double>(state_.epoch), result.loss, result.accuracy});
      begin_epoch();
      save_checkpoint(checkpoint_path(), state_, net_, optimizer_);
    }
    write_results();
  }

 private:
  std::string path(const char* name) const { return options_.out + "/" + name; }
  std::string checkpoint_path() const { return path("checkpoint.gradus"); }

  // What a killed run was writing.
  void remove_half_written() const {
    for (const auto& entry : std::filesystem::directory_iterator(options_.out)) {
      const std::string name = entry.path().filename();
      const bool half = name.size() > 4 && name.compare(name.size() - 4, 4, ".tmp") == 0;
      if (half && name.rfind("checkpoint.gradus.", 0) == 0) std::filesystem::remove(entry.path());
    }
  }

  void begin_epoch() {
    state_.batch = 0;
    state_.order_random = order_random_.state();
    state_.loss_sum = 0;
    state_.seen = state_.correct = 0;
  }

  void train_epoch() {
    net_->train();
    const Tensor order = gradus::randperm(state_.images, order_random_, gradus::kLong);
    const int64_t batches = (state_.images + state_.batch_size - 1) / state_.batch_size;
    auto loader = data::make_data_loader(prepared(train_), FixedOrder(order, state_.batch * state_.batch_size),
                                         data::DataLoaderOptions().batch_size(state_.batch_size).workers(1));
    Progress progress("epoch " + std::to_string(state_.epoch + 1) + "/" + std::to_string(options_.epochs), batches,
                      state_.batch);
    auto saved = std::chrono::steady_clock::now();
    for (auto& batch : *loader) {
      train_batch(batch);
      note_point(batches);
      progress.update(state_.batch, state_.seen, state_.loss_sum / static_cast<double>(state_.seen),
                      static_cast<double>(state_.correct) / static_cast<double>(state_.seen));
      const auto now = std::chrono::steady_clock::now();
      if (std::chrono::duration<double>(now - saved).count() < options_.checkpoint_seconds) continue;
      save_checkpoint(checkpoint_path(), state_, net_, optimizer_);
      saved = now;
    }
  }

  void train_batch(const data::Example<>& batch) {
    optimizer_.zero_grad();
    const Tensor output = net_->forward(batch.data.to(device_)), target = batch.target.to(device_);
    const Tensor loss = gradus::nn::functional::cross_entropy(output, target);
    loss.backward();
    optimizer_.step();

    const int64_t count = batch.data.size(0);
    const double mean_loss = loss.item<double>();
    if (!std::isfinite(mean_loss)) {
      throw std::runtime_error("the loss became " + std::to_string(mean_loss) + "; try a smaller --lr than " +
                               std::to_string(state_.lr));
    }
    const int64_t correct = output.argmax(1).eq(target).sum().item<int64_t>();
    ++state_.batch;
    state_.seen += count;
    state_.correct += correct;
    state_.loss_sum += mean_loss * static_cast<double>(count);
    state_.span_seen += count;
    state_.span_correct += correct;
    state_.span_loss += mean_loss * static_cast<double>(count);
  }

  // A point of the training curve for every so many batches.
  void note_point(int64_t batches) {
    const int64_t span = std::max<int64_t>(1, batches / kPointsPerEpoch);
    if (state_.batch % span != 0 && state_.batch != batches) return;
    const auto seen = static_cast<double>(state_.span_seen);
    state_.history.train.push_back(
        {static_cast<double>(state_.epoch) + static_cast<double>(state_.batch) / static_cast<double>(batches),
         state_.span_loss / seen, static_cast<double>(state_.span_correct) / seen});
    state_.span_loss = 0;
    state_.span_seen = state_.span_correct = 0;
  }

  auto test_loader(int64_t batch_size) {
    return data::make_data_loader<data::samplers::SequentialSampler>(prepared(test_), batch_size);
  }

  TestResult test() {
    gradus::NoGradGuard no_grad;
    net_->eval();
    double loss = 0;
    int64_t correct = 0;
    const auto loader = test_loader(kTestBatch);
    for (auto& batch : *loader) {
      const Tensor output = net_->forward(batch.data.to(device_)), target = batch.target.to(device_);
      loss += gradus::nn::functional::cross_entropy(output, target).item<double>() *
              static_cast<double>(batch.data.size(0));
      correct += output.argmax(1).eq(target).sum().item<int64_t>();
    }
    const auto count = static_cast<double>(*test_.size());
    return {loss / count, static_cast<double>(correct) / count};
  }

  std::vector<Prediction> predictions() {
    gradus::NoGradGuard no_grad;
    net_->eval();
    const int64_t count = std::min<int64_t>(kShown, static_cast<int64_t>(*test_.size()));
    const auto loader = test_loader(count);
    const auto first = loader->begin();
    const auto& batch = *first;
    const Tensor chances = gradus::softmax(net_->forward(batch.data.to(device_)), 1).cpu();
    const Tensor best = chances.argmax(1);
    std::vector<Prediction> out;
    for (int64_t i = 0; i < count; ++i) {
      Prediction prediction;
      const Tensor image = test_.images()[i].mul(255).round().to(gradus::kByte).contiguous();
      prediction.pixels.assign(image.data_ptr<uint8_t>(), image.data_ptr<uint8_t>() + image.numel());
      const int64_t guess = best[i].item<int64_t>(), truth = batch.target[i].item<int64_t>();
      prediction.predicted = label(guess);
      prediction.truth = label(truth);
      prediction.confidence = chances[i][guess].item<double>();
      out.push_back(std::move(prediction));
    }
    return out;
  }

  static std::string label(int64_t number) {
    return number >= 0 && number < 10 ? kLabels[number] : "class " + std::to_string(number);
  }

  void write_results() {
    if (state_.history.test.empty()) {
      std::printf("No epoch was asked for; nothing is written.\n");
      return;
    }
    char accuracy[32];
    std::snprintf(accuracy, sizeof accuracy, "%.4f", state_.history.test.back().accuracy);
    gradus::save_safetensors(net_, path("fashion_mnist.safetensors"), {{"test_accuracy", accuracy}});
    draw_predictions(path("predictions.png"), predictions(), state_.history.test.back().accuracy);
    draw_training(path("training.png"), state_.history);
    std::printf("\nTest accuracy %.2f %%. Written to %s:\n", 100 * state_.history.test.back().accuracy,
                std::filesystem::absolute(options_.out).lexically_normal().c_str());
    std::printf("  fashion_mnist.safetensors  the weights\n");
    std::printf("  predictions.png            test images with predicted and true labels\n");
    std::printf("  training.png               loss and accuracy curves\n");
  }

  Options options_;
  data::datasets::MNIST train_, test_;
  Net net_;
  gradus::optim::Adam optimizer_;
  gradus::Device device_;
  gradus::Generator order_random_;
  TrainingState state_;
};

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a convolutional network on Fashion-MNIST.");
  app.add_option("--epochs", options.epochs, "passes over the training images")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  auto* batch_size = app.add_option("--batch-size", options.batch_size, "images per step")
                         ->check(CLI::Range(2, 60000))
                         ->capture_default_str();
  auto* lr =
      app.add_option("--lr", options.lr, "Adam's learning rate")->check(CLI::Range(0.0, 10.0))->capture_default_str();
  auto* seed = app.add_option("--seed", options.seed, "of the weights, the order and dropout")->capture_default_str();
  app.add_option("--threads", options.threads, "threads to use; 0: all")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--device", options.device, "where to train: cpu, cuda or cuda:N")->capture_default_str();
  app.add_option("--data", options.data, "folder with the four IDX files, plain or gzip")->capture_default_str();
  app.add_option("--out", options.out, "folder for weights, pictures and checkpoint")->capture_default_str();
  app.add_option("--checkpoint-seconds", options.checkpoint_seconds, "time between checkpoints")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--resume", options.resume, "go on from the checkpoint in --out");
  CLI11_PARSE(app, argc, argv);

  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (!std::filesystem::is_directory(options.out)) {
    throw std::runtime_error(options.out + " cannot be made (" + error.message() +
                             "); expected a folder that can be written: give another --out");
  }
  const auto machine = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  gradus::set_num_threads(options.threads > 0 ? options.threads : machine);
  gradus::manual_seed(options.seed);
  Trainer trainer(options);
  if (options.resume) trainer.resume(seed->count() > 0, lr->count() > 0, batch_size->count() > 0);
  trainer.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fashion_mnist: %s\n", error.what());
    return 1;
  }
}
