// Precompiled for the tests; each includes what it uses all the same.
#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gradus/gradus.h>
#include <gtest/gtest.h>
