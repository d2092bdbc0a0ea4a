#include "checkpoint.h"

#include <algorithm>
#include <stdexcept>

namespace {

using gradus::IValue;
using gradus::Tensor;

Tensor tensor_of(const std::vector<uint8_t>& bytes) {
  Tensor out = gradus::empty({static_cast<int64_t>(bytes.size())}, gradus::kByte);
  std::copy(bytes.begin(), bytes.end(), out.data_ptr<uint8_t>());
  return out;
}

std::vector<uint8_t> bytes_of(const Tensor& tensor) {
  const auto* data = tensor.data_ptr<uint8_t>();
  return {data, data + tensor.numel()};
}

std::vector<double> flat(const std::vector<TrainingHistory::Point>& points) {
  std::vector<double> out;
  for (const auto& point : points) out.insert(out.end(), {point.epoch, point.loss, point.accuracy});
  return out;
}

std::vector<TrainingHistory::Point> points_of(const std::vector<double>& numbers) {
  std::vector<TrainingHistory::Point> out;
  for (size_t i = 0; i + 2 < numbers.size(); i += 3) out.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  return out;
}

int64_t read_int(gradus::serialize::InputArchive& archive, const char* key) {
  IValue value;
  archive.read(key, value);
  return value.toInt();
}

double read_double(gradus::serialize::InputArchive& archive, const char* key) {
  IValue value;
  archive.read(key, value);
  return value.toDouble();
}

std::vector<double> read_doubles(gradus::serialize::InputArchive& archive, const char* key) {
  IValue value;
  archive.read(key, value);
  return value.toDoubleVector();
}

std::vector<uint8_t> read_bytes(gradus::serialize::InputArchive& archive, const char* key) {
  Tensor bytes;
  archive.read(key, bytes);
  return bytes_of(bytes);
}

// Dropout draws where the network is.
bool on_cuda(Net& net) {
  return net->parameters().at(0).is_cuda();
}

}  // namespace

void save_checkpoint(const std::string& path, const TrainingState& state, Net& net, gradus::optim::Adam& optimizer) {
  gradus::serialize::OutputArchive archive, model, adam;
  net->save(model);
  optimizer.save(adam);
  archive.write("model", model);
  archive.write("optimizer", adam);
  archive.write("seed", IValue(static_cast<int64_t>(state.seed)));
  archive.write("batch_size", IValue(state.batch_size));
  archive.write("images", IValue(state.images));
  archive.write("lr", IValue(state.lr));
  archive.write("epoch", IValue(state.epoch));
  archive.write("batch", IValue(state.batch));
  archive.write("order_random", tensor_of(state.order_random));
  archive.write("default_random", tensor_of(gradus::default_generator().state()));
  if (on_cuda(net)) archive.write("cuda_random", tensor_of(gradus::default_generator(gradus::kCUDA).state()));
  archive.write("loss_sum", IValue(state.loss_sum));
  archive.write("seen", IValue(state.seen));
  archive.write("correct", IValue(state.correct));
  archive.write("span_loss", IValue(state.span_loss));
  archive.write("span_seen", IValue(state.span_seen));
  archive.write("span_correct", IValue(state.span_correct));
  archive.write("train_curve", IValue(flat(state.history.train)));
  archive.write("test_curve", IValue(flat(state.history.test)));
  archive.save_to(path);
}

void load_checkpoint(const std::string& path, TrainingState& state, Net& net, gradus::optim::Adam& optimizer) {
  gradus::serialize::InputArchive archive, model, adam;
  archive.load_from(path);
  TrainingState read;
  read.seed = static_cast<uint64_t>(read_int(archive, "seed"));
  read.batch_size = read_int(archive, "batch_size");
  read.images = read_int(archive, "images");
  read.lr = read_double(archive, "lr");
  read.epoch = read_int(archive, "epoch");
  read.batch = read_int(archive, "batch");
  read.order_random = read_bytes(archive, "order_random");
  read.loss_sum = read_double(archive, "loss_sum");
  read.seen = read_int(archive, "seen");
  read.correct = read_int(archive, "correct");
  read.span_loss = read_double(archive, "span_loss");
  read.span_seen = read_int(archive, "span_seen");
  read.span_correct = read_int(archive, "span_correct");
  read.history = {points_of(read_doubles(archive, "train_curve")), points_of(read_doubles(archive, "test_curve"))};
  const auto random = read_bytes(archive, "default_random");
  if (read.epoch < 0 || read.batch < 0 || read.batch_size < 1 || read.seen < 0 || read.span_seen < 0) {
    throw std::runtime_error(path + " holds impossible numbers; expected a checkpoint that this program wrote");
  }

  archive.read("model", model);
  archive.read("optimizer", adam);
  net->load(model);
  optimizer.load(adam);
  gradus::Generator generator = gradus::default_generator();
  generator.set_state(random);
  Tensor cuda_random;
  if (on_cuda(net) && archive.try_read("cuda_random", cuda_random)) {
    gradus::Generator on_device = gradus::default_generator(gradus::kCUDA);
    on_device.set_state(bytes_of(cuda_random));
  }
  state = std::move(read);
}
