// Written by expected.py from PyTorch's answers. Do not edit.
// clang-format off
#pragma once

#include <vector>

namespace gradus::testing::expected {

inline const std::vector<double> prod_none = {432000};
inline const std::vector<double> prod_none_first = {-129600, 324000, -324000, 129600, 648000, -216000, 162000, 108000, -162000, 216000, -648000, -129600};
inline const std::vector<double> prod_none_second = {-1425600, 2203200, -4147200, 1114560, 2462400, -2548800, 1344600, 1058400, -1830600, 1684800, -10238400, -1425600};
inline const std::vector<double> prod_rows_none = {100, -72, -60};
inline const std::vector<double> prod_rows_none_first = {-20, 50, -50, 20, -576, 192, -144, -96, 60, -80, 240, 48};
inline const std::vector<double> prod_rows_none_second = {-84, 0, -300, 36, -1440, 2016, -1008, -816, -132, 456, 552, -120.00000000000003};
inline const std::vector<double> prod_columns_none = {20, -18, 8, -150};
inline const std::vector<double> prod_columns_none_first = {-4, -72, -16, -330, 20, 48, 8, -275, -5, -48, -32, 330};
inline const std::vector<double> prod_columns_none_second = {-26, -144, 40, -264, -14, 336, -56, -550, -34, -144, -16, 1056};
inline const std::vector<double> prod_5 = {-0};
inline const std::vector<double> prod_5_first = {0, -0, 0, -0, -0, -216000, -0, -0, 0, -0, 0, 0};
inline const std::vector<double> prod_5_second = {129600, -324000, 324000, -129600, -648000, -2548800, -162000, -108000, 162000, -216000, 648000, 129600};
inline const std::vector<double> prod_rows_5 = {100, 0, -60};
inline const std::vector<double> prod_rows_5_first = {-20, 50, -50, 20, 0, 192, 0, 0, 60, -80, 240, 48};
inline const std::vector<double> prod_rows_5_second = {-84, 0, -300, 36, 576, 2016, 144, 96, -132, 456, 552, -120};
inline const std::vector<double> prod_columns_5 = {20, 0, 8, -150};
inline const std::vector<double> prod_columns_5_first = {-4, 0, -16, -330, 20, 48, 8, -275, -5, 0, -32, 330};
inline const std::vector<double> prod_columns_5_second = {-26, 72, 40, -264, -14, 336, -56, -550, -34, 48, -16, 1056};
inline const std::vector<double> prod_1_6 = {0};
inline const std::vector<double> prod_1_6_first = {-0, 0, -0, 0, 0, -0, 0, 0, -0, 0, -0, -0};
inline const std::vector<double> prod_1_6_second = {0, 810000, 0, 0, 0, 0, 648000, 0, 0, 0, 0, 0};
inline const std::vector<double> prod_rows_1_6 = {0, -0, -60};
inline const std::vector<double> prod_rows_1_6_first = {-0, 50, -0, 0, -0, 0, -144, -0, 60, -80, 240, 48};
inline const std::vector<double> prod_rows_1_6_second = {-80, 0, -200, 80, -1440, 480, -1008, -240, -132, 456, 552, -120};
inline const std::vector<double> prod_columns_1_6 = {20, -0, 0, -150};
inline const std::vector<double> prod_columns_1_6_first = {-4, -72, -0, -330, 20, 0, 8, -275, -5, -0, -0, 330};
inline const std::vector<double> prod_columns_1_6_second = {-26, -144, -40, -264, -14, 192, -56, -550, -34, -192, -80, 1056};
inline const std::vector<double> prod_1_5 = {-0};
inline const std::vector<double> prod_1_5_first = {0, -0, 0, -0, -0, -0, -0, -0, 0, -0, 0, 0};
inline const std::vector<double> prod_1_5_second = {0, -324000, 0, 0, 0, -864000, 0, 0, 0, 0, 0, 0};
inline const std::vector<double> prod_rows_1_5 = {0, 0, -60};
inline const std::vector<double> prod_rows_1_5_first = {-0, 50, -0, 0, 0, 192, 0, 0, 60, -80, 240, 48};
inline const std::vector<double> prod_rows_1_5_second = {-80, 0, -200, 80, 576, 2016, 144, 96, -132, 456, 552, -120};
inline const std::vector<double> prod_columns_1_5 = {20, 0, 8, -150};
inline const std::vector<double> prod_columns_1_5_first = {-4, 0, -16, -330, 20, 0, 8, -275, -5, 0, -32, 330};
inline const std::vector<double> prod_columns_1_5_second = {-26, 72, 40, -264, -14, 192, -56, -550, -34, 0, -16, 1056};
inline const std::vector<double> prod_0_4_8 = {0};
inline const std::vector<double> prod_0_4_8_first = {0, 0, -0, 0, 0, -0, 0, 0, 0, 0, -0, -0};
inline const std::vector<double> prod_0_4_8_second = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
inline const std::vector<double> prod_rows_0_4_8 = {-0, -0, 0};
inline const std::vector<double> prod_rows_0_4_8_first = {-20, -0, 0, -0, -576, 0, -0, -0, 60, 0, -0, -0};
inline const std::vector<double> prod_rows_0_4_8_second = {-84, -10, 10, -4, -1440, 1344, -1008, -672, -132, 40, -120, -24};
inline const std::vector<double> prod_columns_0_4_8 = {0, -18, 8, -150};
inline const std::vector<double> prod_columns_0_4_8_first = {0, -72, -16, -330, 0, 48, 8, -275, 0, -48, -32, 330};
inline const std::vector<double> prod_columns_0_4_8_second = {0, -144, 40, -264, 0, 336, -56, -550, 0, -144, -16, 1056};
inline const std::vector<double> pad_constant_1_2 = {0, -5, 2, -2, 5, 0, 0, 0, 1, -3, 4, 0, 0, 0, 0, -4, 3, -1, -5, 0, 0, 0, 2, -2, 5, 1, 0, 0, 0, -3, 4, 0, -4, 0, 0, 0, 3, -1, -5, 2, 0, 0};
inline const std::vector<double> pad_constant_1_2_first = {8, 4, 11, 7, 2, 9, 5, 1, 7, 3, 10, 6, 1, 8, 4, 11, 6, 2, 9, 5, 11, 7, 3, 10};
inline const std::vector<double> pad_constant_minus1_1_0_2 = {2, -2, 5, 0, -3, 4, 0, 0, 3, -1, -5, 0, 0, 0, 0, 0, 0, 0, 0, 0, -2, 5, 1, 0, 4, 0, -4, 0, -1, -5, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0};
inline const std::vector<double> pad_constant_minus1_1_0_2_first = {0, 1, 8, 4, 0, 7, 3, 10, 0, 2, 9, 5, 0, 9, 5, 1, 0, 4, 11, 7, 0, 10, 6, 2};
inline const std::vector<double> pad_reflect_1_2 = {2, -5, 2, -2, 5, -2, 2, -3, 1, -3, 4, 0, 4, -3, 3, -4, 3, -1, -5, -1, 3, -2, 2, -2, 5, 1, 5, -2, 4, -3, 4, 0, -4, 0, 4, -1, 3, -1, -5, 2, -5, -1};
inline const std::vector<double> pad_reflect_1_2_first = {8, 15, 14, 7, 2, 19, 13, 1, 7, 23, 12, 6, 1, 16, 11, 11, 6, 20, 10, 5, 11, 13, 9, 10};
inline const std::vector<double> pad_reflect_1_2_second = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
inline const std::vector<double> pad_replicate_2_0 = {-5, -5, -5, 2, -2, 5, 1, 1, 1, -3, 4, 0, -4, -4, -4, 3, -1, -5, 2, 2, 2, -2, 5, 1, -3, -3, -3, 4, 0, -4, 3, 3, 3, -1, -5, 2};
inline const std::vector<double> pad_replicate_2_0_first = {13, 11, 7, 3, 18, 9, 5, 1, 23, 7, 3, 10, 17, 5, 1, 8, 22, 3, 10, 6, 16, 1, 8, 4};
inline const std::vector<double> pad_replicate_2_0_second = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
inline const std::vector<double> pad_circular_1_2 = {5, -5, 2, -2, 5, -5, 2, 0, 1, -3, 4, 0, 1, -3, -5, -4, 3, -1, -5, -4, 3, 1, 2, -2, 5, 1, 2, -2, -4, -3, 4, 0, -4, -3, 4, 2, 3, -1, -5, 2, 3, -1};
inline const std::vector<double> pad_circular_1_2_first = {11, 14, 11, 8, 10, 13, 5, 7, 9, 12, 10, 17, 8, 11, 4, 16, 7, 10, 9, 15, 17, 9, 3, 14};
inline const std::vector<double> pad_value = {2.5, -5, 2, -2, 2.5, 5, 1, -3, 2.5, 2.5, 2.5, 2.5};
inline const std::vector<double> one_hot = {0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0};
inline const std::vector<double> one_hot_5 = {0, 0, 0, 1, 0, 1, 0, 0, 0, 0};
inline const std::vector<double> tril_minus5 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
inline const std::vector<double> tril_minus5_first = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
inline const std::vector<double> triu_minus5 = {-5, 2, -2, 5, 1, -3, 4, 0, -4, 3, -1, -5, 2, -2, 5, 1, -3, 4, 0, -4, 3, -1, -5, 2};
inline const std::vector<double> triu_minus5_first = {1, 8, 4, 11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 11, 7, 3, 10, 6, 2, 9, 5, 1, 8};
inline const std::vector<double> tril_minus1 = {0, 0, 0, 0, 1, 0, 0, 0, -4, 3, 0, 0, 0, 0, 0, 0, -3, 0, 0, 0, 3, -1, 0, 0};
inline const std::vector<double> tril_minus1_first = {0, 0, 0, 0, 7, 0, 0, 0, 2, 9, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 9, 5, 0, 0};
inline const std::vector<double> triu_minus1 = {-5, 2, -2, 5, 1, -3, 4, 0, 0, 3, -1, -5, 2, -2, 5, 1, -3, 4, 0, -4, 0, -1, -5, 2};
inline const std::vector<double> triu_minus1_first = {1, 8, 4, 11, 7, 3, 10, 6, 0, 9, 5, 1, 8, 4, 11, 7, 3, 10, 6, 2, 0, 5, 1, 8};
inline const std::vector<double> tril_0 = {-5, 0, 0, 0, 1, -3, 0, 0, -4, 3, -1, 0, 2, 0, 0, 0, -3, 4, 0, 0, 3, -1, -5, 0};
inline const std::vector<double> tril_0_first = {1, 0, 0, 0, 7, 3, 0, 0, 2, 9, 5, 0, 8, 0, 0, 0, 3, 10, 0, 0, 9, 5, 1, 0};
inline const std::vector<double> triu_0 = {-5, 2, -2, 5, 0, -3, 4, 0, 0, 0, -1, -5, 2, -2, 5, 1, 0, 4, 0, -4, 0, 0, -5, 2};
inline const std::vector<double> triu_0_first = {1, 8, 4, 11, 0, 3, 10, 6, 0, 0, 5, 1, 8, 4, 11, 7, 0, 10, 6, 2, 0, 0, 1, 8};
inline const std::vector<double> tril_2 = {-5, 2, -2, 0, 1, -3, 4, 0, -4, 3, -1, -5, 2, -2, 5, 0, -3, 4, 0, -4, 3, -1, -5, 2};
inline const std::vector<double> tril_2_first = {1, 8, 4, 0, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 11, 0, 3, 10, 6, 2, 9, 5, 1, 8};
inline const std::vector<double> triu_2 = {0, 0, -2, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 1, 0, 0, 0, -4, 0, 0, 0, 0};
inline const std::vector<double> triu_2_first = {0, 0, 4, 11, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 11, 7, 0, 0, 0, 2, 0, 0, 0, 0};
inline const std::vector<double> tril_4 = {-5, 2, -2, 5, 1, -3, 4, 0, -4, 3, -1, -5, 2, -2, 5, 1, -3, 4, 0, -4, 3, -1, -5, 2};
inline const std::vector<double> tril_4_first = {1, 8, 4, 11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 11, 7, 3, 10, 6, 2, 9, 5, 1, 8};
inline const std::vector<double> triu_4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
inline const std::vector<double> triu_4_first = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
inline const std::vector<double> take = {-5, -5, -3, -3};
inline const std::vector<double> take_first = {1, 0, 0, 0, 0, 15, 0, 0, 0, 0, 0, 8};
inline const std::vector<double> take_of_transposed = {1, -3, -5};
inline const std::vector<double> take_of_transposed_first = {4, 0, 0, 0, 1, 8, 0, 0, 0, 0, 0, 0};
inline const std::vector<double> scatter_add = {-3, 10, -2, 5, 10, 2, 16, 0, 0};
inline const std::vector<double> scatter_multiply = {-10, 16, -2, 5, 9, -15, 48, 0, -16};
inline const std::vector<double> layer_norm_tiny = {-0.079164303378280733, 0.21416771360398651, -0.23584365381472667, 0.22359203543468669, -0.1227517918456658};
inline const std::vector<double> layer_norm_tiny_eps = {11400474611657523.0, 1.5361790193901702e+17, -1.6589040661973358e+17, 1.1646055559133038e+17, -1.1558852552227134e+17};
inline const std::vector<double> layer_norm_no_eps = {21937166026907630.0, 1.7370034759390797e+17, -1.8714269613805562e+17, 1.258586557267158e+17, -1.3435347320947577e+17};
inline const std::vector<double> layer_norm_ordinary = {0.019027361324754609, 0.15066086842855552, -0.16232023795721192, 0.10916491038390052, -0.11653290217999873};

}  // namespace gradus::testing::expected
