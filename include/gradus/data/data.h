// All of data.
#pragma once

#include <gradus/data/dataloader.h>
#include <gradus/data/datasets.h>
#include <gradus/data/samplers.h>
#include <gradus/data/transforms.h>
