// Saving and loading.
#pragma once

#include <gradus/serialize/archive.h>
#include <gradus/serialize/safetensors.h>
#include <gradus/serialize/serialize.h>
