// Includes the learner, all optimizers, gradient transforms and schedules, for recipes.
#pragma once

#include "learn/adamw.h"
#include "learn/clip_by_global_norm.h"
#include "learn/gradient_transform.h"
#include "learn/learner.h"
#include "learn/optimizer.h"
#include "learn/param_ema.h"
#include "learn/polynomial_schedule.h"
#include "learn/schedule.h"
#include "learn/sgd.h"
#include "learn/warmup_schedule.h"
#include "learn/weight_decay.h"
