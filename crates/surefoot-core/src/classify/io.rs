//! What an I/O fault says about a call. The kind alone does not tell in which phase the call was;
//! where it is open whether bytes left, the answer is that they may have.

use std::io::ErrorKind;

use super::{Certainty, Class};

/// Classifies an I/O fault by its kind.
///
/// Faults of the path or the moment are transient; faults of the request, the configuration or the
/// data are permanent. A kind that is not listed is transient: attempts are bounded, so a wrong
/// guess costs a few tries, while the opposite guess parks good work.
#[must_use]
pub const fn io(kind: ErrorKind) -> Class {
    match kind {
        ErrorKind::NotFound
        | ErrorKind::PermissionDenied
        | ErrorKind::AlreadyExists
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory
        | ErrorKind::DirectoryNotEmpty
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::InvalidInput
        | ErrorKind::InvalidData
        | ErrorKind::InvalidFilename
        | ErrorKind::ArgumentListTooLong
        | ErrorKind::FileTooLarge
        | ErrorKind::NotSeekable
        | ErrorKind::CrossesDevices
        | ErrorKind::TooManyLinks
        | ErrorKind::Unsupported => Class::Permanent,
        _ => Class::Transient,
    }
}

/// What may have happened at the other end of a call that ended with an I/O fault.
///
/// `NotSent` only for kinds that arise before a connection exists. All others are `MaybeApplied`:
/// even "host unreachable" is reported on open connections after retransmissions ran out. A caller
/// that knows its fault came from resolving or connecting says `NotSent` by itself.
#[must_use]
pub const fn io_certainty(kind: ErrorKind) -> Certainty {
    match kind {
        ErrorKind::ConnectionRefused
        | ErrorKind::AddrInUse
        | ErrorKind::AddrNotAvailable
        | ErrorKind::NotFound => Certainty::NotSent,
        _ => Certainty::MaybeApplied,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_says_whether_to_retry_and_whether_bytes_may_have_left() {
        use Certainty::{MaybeApplied, NotSent};
        use Class::{Permanent, Transient};
        let table = [
            (ErrorKind::ConnectionRefused, Transient, NotSent),
            (ErrorKind::AddrInUse, Transient, NotSent),
            (ErrorKind::AddrNotAvailable, Transient, NotSent),
            (ErrorKind::ConnectionReset, Transient, MaybeApplied),
            (ErrorKind::ConnectionAborted, Transient, MaybeApplied),
            (ErrorKind::NotConnected, Transient, MaybeApplied),
            (ErrorKind::HostUnreachable, Transient, MaybeApplied),
            (ErrorKind::NetworkUnreachable, Transient, MaybeApplied),
            (ErrorKind::NetworkDown, Transient, MaybeApplied),
            (ErrorKind::TimedOut, Transient, MaybeApplied),
            (ErrorKind::BrokenPipe, Transient, MaybeApplied),
            (ErrorKind::UnexpectedEof, Transient, MaybeApplied),
            (ErrorKind::WriteZero, Transient, MaybeApplied),
            (ErrorKind::Interrupted, Transient, MaybeApplied),
            (ErrorKind::WouldBlock, Transient, MaybeApplied),
            (ErrorKind::ResourceBusy, Transient, MaybeApplied),
            (ErrorKind::StorageFull, Transient, MaybeApplied),
            (ErrorKind::OutOfMemory, Transient, MaybeApplied),
            (ErrorKind::Other, Transient, MaybeApplied),
            (ErrorKind::NotFound, Permanent, NotSent),
            (ErrorKind::PermissionDenied, Permanent, MaybeApplied),
            (ErrorKind::AlreadyExists, Permanent, MaybeApplied),
            (ErrorKind::InvalidData, Permanent, MaybeApplied),
            (ErrorKind::InvalidInput, Permanent, MaybeApplied),
            (ErrorKind::Unsupported, Permanent, MaybeApplied),
        ];
        for (kind, class, certainty) in table {
            assert_eq!(io(kind), class, "{kind:?}");
            assert_eq!(io_certainty(kind), certainty, "{kind:?}");
        }
    }
}
