//! Which addresses a server may listen on. Without a token it never leaves the machine.

use std::net::SocketAddr;

/// An address that the server must not listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} can be reached from other machines and no token is configured: anybody could run and change jobs; configure \
     a token, or listen on 127.0.0.1:{port}",
    port = .0.port()
)]
pub struct ListenRefused(pub SocketAddr);

/// Whether the server may listen on `addr`: on a loopback address always, on any other only with a token.
///
/// # Errors
/// [`ListenRefused`], whose text names the remedy.
pub fn check_listen(addr: SocketAddr, has_tokens: bool) -> Result<(), ListenRefused> {
    if has_tokens || addr.ip().to_canonical().is_loopback() {
        Ok(())
    } else {
        Err(ListenRefused(addr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_token_only_loopback_is_listened_on() {
        let table = [
            ("127.0.0.1:7070", true),
            ("127.8.9.10:7070", true),
            ("[::1]:7070", true),
            ("[::ffff:127.0.0.1]:7070", true),
            ("0.0.0.0:7070", false),
            ("[::]:7070", false),
            ("192.168.1.4:7070", false),
            ("[::ffff:192.168.1.4]:7070", false),
            ("[fe80::1]:7070", false),
        ];
        for (addr, loopback) in table {
            let addr: SocketAddr = addr.parse().unwrap();
            assert_eq!(check_listen(addr, false).is_ok(), loopback, "{addr}");
            assert_eq!(check_listen(addr, true), Ok(()), "{addr}");
        }
        assert_eq!(
            check_listen("0.0.0.0:7070".parse().unwrap(), false)
                .unwrap_err()
                .to_string(),
            "0.0.0.0:7070 can be reached from other machines and no token is configured: anybody could run and change \
             jobs; configure a token, or listen on 127.0.0.1:7070"
        );
    }
}
