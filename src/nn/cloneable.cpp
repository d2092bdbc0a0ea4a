// The library holds the code of the layers' clone(); programs do not compile it again.
#include <gradus/nn/nn.h>

namespace gradus::inline v0::nn {

template class Cloneable<ReLUImpl>;
template class Cloneable<LeakyReLUImpl>;
template class Cloneable<GELUImpl>;
template class Cloneable<SiLUImpl>;
template class Cloneable<TanhImpl>;
template class Cloneable<SigmoidImpl>;
template class Cloneable<SoftmaxImpl>;
template class Cloneable<LogSoftmaxImpl>;
template class Cloneable<DropoutImpl>;
template class Cloneable<SequentialImpl>;
template class Cloneable<ModuleListImpl>;
template class Cloneable<FunctionalImpl>;
template class Cloneable<Conv2dImpl>;
template class Cloneable<EmbeddingImpl>;
template class Cloneable<LinearImpl>;
template class Cloneable<IdentityImpl>;
template class Cloneable<FlattenImpl>;
template class Cloneable<MSELossImpl>;
template class Cloneable<NLLLossImpl>;
template class Cloneable<CrossEntropyLossImpl>;
template class Cloneable<BCEWithLogitsLossImpl>;
template class Cloneable<LayerNormImpl>;
template class Cloneable<MaxPool2dImpl>;
template class Cloneable<AvgPool2dImpl>;

}  // namespace gradus::inline v0::nn
