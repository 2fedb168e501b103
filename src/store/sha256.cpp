// SPDX-License-Identifier: Apache-2.0
#include "store/sha256.h"

#include <openssl/evp.h>

namespace wgk::store {

package::Sha256 sha256(std::span<const std::byte> bytes) {
  package::Sha256 digest = {};
  unsigned int size = 0;
  // A failure leaves zeros, which match no listed digest.
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    digest = {};
  return digest;
}

}  // namespace wgk::store
