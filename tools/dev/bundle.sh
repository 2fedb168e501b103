# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev bundle: a relocatable folder.
