// Data sets, samplers, transforms and loaders.
#pragma once

#include <gradus/data/dataloader.h>
#include <gradus/data/datasets.h>
#include <gradus/data/example.h>
#include <gradus/data/samplers.h>
#include <gradus/data/transforms.h>
