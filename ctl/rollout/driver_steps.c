/*
 * The names of the steps.
 */
#include "ctl/rollout/driver.h"

const char *const driver_step_names[DRIVER_STEPS] = {"",       "load",   "fence", "deprecate",
                                                     "wait",   "deploy", "apply", "confirm",
                                                     "switch", "drain",  "retire"};
