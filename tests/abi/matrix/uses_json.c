/* SPDX-License-Identifier: Apache-2.0 */
#include "uses_json.inc"
