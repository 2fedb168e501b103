// SPDX-License-Identifier: Apache-2.0
// The plain functions: the first digest by way of EVP sets up all of libcrypto's providers, which
// takes a new process longer than every digest of a package.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "store/sha256.h"

#include <openssl/sha.h>

namespace wgk::store {

package::Sha256 sha256(std::span<const std::byte> bytes) {
  package::Sha256 digest = {};
  SHA256_CTX context;
  // A failure leaves zeros, which match no listed digest.
  if (SHA256_Init(&context) != 1 || SHA256_Update(&context, bytes.data(), bytes.size()) != 1 ||
      SHA256_Final(digest.data(), &context) != 1)
    digest = {};
  return digest;
}

}  // namespace wgk::store
