//! Bearer tokens. Only their digests are held, and a digest is compared in a time that tells nothing of it.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

/// Who may use the API: a name, and the SHA-256 digest of a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    name: String,
    digest: [u8; 32],
}

/// A token that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The name is empty, too long, or holds other characters.
    #[error("token name {0:?} is not usable: give 1 to {max} letters, digits and _ . -", max = Token::NAME_BYTES_MAX)]
    Name(String),
    /// The secret is too short to be one.
    #[error("the secret of token {name:?} has {bytes} bytes, at least {min} are needed; make one with: openssl rand -hex 24", min = Token::SECRET_BYTES_MIN)]
    Short {
        /// The token's name.
        name: String,
        /// How many bytes its secret has.
        bytes: usize,
    },
    /// The digest is not one.
    #[error("the digest of token {0:?} is not a SHA-256 digest: give 64 hex digits")]
    Digest(String),
}

impl Token {
    /// The most bytes of a name.
    pub const NAME_BYTES_MAX: usize = 40;
    /// The fewest bytes of a secret.
    pub const SECRET_BYTES_MIN: usize = 16;

    /// A token from its secret, which is not kept. The name is what is recorded as the actor.
    ///
    /// # Errors
    /// A name that is not usable, or a secret that is too short.
    pub fn from_secret(name: &str, secret: &str) -> Result<Self, TokenError> {
        let bytes = secret.len();
        if bytes < Self::SECRET_BYTES_MIN {
            return Err(TokenError::Short {
                name: name.to_owned(),
                bytes,
            });
        }
        Ok(Self {
            name: checked(name)?,
            digest: digest(secret.as_bytes()),
        })
    }

    /// A token from the SHA-256 digest of its secret, as 64 hex digits, so that no configuration holds the secret.
    ///
    /// # Errors
    /// A name that is not usable, or a text that is not a digest.
    pub fn from_sha256_hex(name: &str, hex: &str) -> Result<Self, TokenError> {
        let name = checked(name)?;
        match unhex(hex) {
            Some(digest) => Ok(Self { name, digest }),
            None => Err(TokenError::Digest(name)),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The token whose secret this is. Every token is compared, whichever fits.
pub(crate) fn find<'a>(tokens: &'a [Token], secret: &[u8]) -> Option<&'a Token> {
    let presented = digest(secret);
    let mut place = u32::MAX;
    for (index, token) in (0_u32..).zip(tokens) {
        let fits: Choice = token.digest.ct_eq(&presented);
        place.conditional_assign(&index, fits);
    }
    tokens.get(usize::try_from(place).ok()?)
}

fn checked(name: &str) -> Result<String, TokenError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let fits = !name.is_empty() && name.len() <= Token::NAME_BYTES_MAX && name.bytes().all(allowed);
    if fits {
        Ok(name.to_owned())
    } else {
        Err(TokenError::Name(name.to_owned()))
    }
}

fn digest(secret: &[u8]) -> [u8; 32] {
    Sha256::digest(secret).into()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let mut bytes = [0; 32];
    if pairs.len() != bytes.len() || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        let (high, low) = (
            char::from(*high).to_digit(16)?,
            char::from(*low).to_digit(16)?,
        );
        *byte = u8::try_from(high * 16 + low).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef";
    /// The digest of [`SECRET`], by `sha256sum`.
    const DIGEST: &str = "9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f";

    #[test]
    fn a_secret_and_its_digest_are_the_same_token() {
        let by_secret = Token::from_secret("ci", SECRET).unwrap();
        assert_eq!(Token::from_sha256_hex("ci", DIGEST), Ok(by_secret.clone()));
        assert_eq!(
            Token::from_sha256_hex("ci", &DIGEST.to_uppercase()),
            Ok(by_secret.clone())
        );
        assert_eq!(format!("{by_secret:?}"), "Token { name: \"ci\", .. }");
    }

    #[test]
    fn only_the_exact_secret_finds_its_token() {
        let tokens = [
            Token::from_secret("a", "aaaaaaaaaaaaaaaa").unwrap(),
            Token::from_secret("ci", SECRET).unwrap(),
            Token::from_secret("z", "zzzzzzzzzzzzzzzz").unwrap(),
        ];
        let name = |secret: &str| find(&tokens, secret.as_bytes()).map(Token::name);
        assert_eq!(name(SECRET), Some("ci"));
        assert_eq!(name("aaaaaaaaaaaaaaaa"), Some("a"));
        assert_eq!(name("zzzzzzzzzzzzzzzz"), Some("z"));
        for wrong in [
            "",
            "0123456789abcde",
            "0123456789abcdef ",
            "0123456789ABCDEF",
            DIGEST,
        ] {
            assert_eq!(name(wrong), None, "{wrong}");
        }
        assert_eq!(find(&[], SECRET.as_bytes()), None);
    }

    #[test]
    fn what_is_no_token_says_why() {
        let refused = |result: Result<Token, TokenError>| result.unwrap_err().to_string();
        assert_eq!(
            refused(Token::from_secret("ci", "short")),
            "the secret of token \"ci\" has 5 bytes, at least 16 are needed; make one with: openssl rand -hex 24"
        );
        for name in ["", "two words", "a\nb", &"n".repeat(41)] {
            assert_eq!(
                Token::from_secret(name, SECRET),
                Err(TokenError::Name(name.to_owned()))
            );
        }
        for hex in [
            "",
            "9f9f",
            &DIGEST[1..],
            &DIGEST.replace('f', "g"),
            &format!("{DIGEST}00"),
        ] {
            assert_eq!(
                refused(Token::from_sha256_hex("ci", hex)),
                "the digest of token \"ci\" is not a SHA-256 digest: give 64 hex digits"
            );
        }
    }
}
