//! The one place that keeps the passwords of arguments out of what the program prints: of its
//! reports, failures and log.
//!
//! They are given in addresses and as tokens; so whatever text an argument gets into, also one of a
//! library, loses them here. What comes from the environment gets into no text.

use serde_json::Value;
use std::sync::LazyLock;

/// What is printed in place of a password.
const HIDDEN: &str = "***";

/// Schemes of addresses, for those in which the slashes are missing.
const SCHEMES: [&str; 7] = ["postgres", "postgresql", "s3", "http", "https", "ws", "wss"];

/// Parameters of addresses that are passwords.
const SECRET_PARAMETERS: [&str; 2] = ["password", "sslpassword"];

/// An argument with a password.
#[derive(Debug, PartialEq, Eq)]
struct SecretArgument {
    /// An address as it was given, and as it is shown.
    address: Option<(String, String)>,
    words: Vec<String>,
}

/// Those of this process.
static SECRETS: LazyLock<Vec<SecretArgument>> = LazyLock::new(|| {
    secrets_of(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()))
});

/// Returns `text` without passwords.
pub fn redacted(text: &str) -> String {
    without(text, &SECRETS)
}

/// The same in all strings of a JSON value.
pub fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => *text = redacted(text),
        Value::Array(values) => values.iter_mut().for_each(redact_value),
        Value::Object(fields) => fields.values_mut().for_each(redact_value),
        _ => {}
    }
}

fn secrets_of(arguments: impl Iterator<Item = String>) -> Vec<SecretArgument> {
    let (mut secrets, mut is_token) = (Vec::new(), false);
    for word in arguments {
        let is_value = std::mem::replace(&mut is_token, word == "--token");
        if let Some(token) = word.strip_prefix("--token=").or(is_value.then_some(&*word)) {
            // The right and the name around it are no secrets, but a mistake may be in any part.
            let words = [token].into_iter().chain(token.split(':').nth(1));
            let words = words.filter(|word| !word.is_empty()).map(str::to_owned);
            secrets.push(SecretArgument { address: None, words: words.collect() });
        } else {
            secrets.extend(secret_of(&word));
        }
    }
    secrets
}

/// The password of an address in an argument, also of one that is misspelt.
fn secret_of(word: &str) -> Option<SecretArgument> {
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let start = match word.find("://") {
        Some(at) => word[..at].trim_end_matches(is_scheme).len(),
        None => {
            let start = word.find('=').filter(|_| word.starts_with('-')).map_or(0, |at| at + 1);
            let (scheme, _) = word[start..].split_once(':')?;
            SCHEMES.contains(&scheme).then_some(start)?
        }
    };
    let address = &word[start..];
    let AddressParts { credentials, parameters, .. } = AddressParts::of(address);
    let password = credentials.split_once(':').map(|(_, password)| password);
    let parameters = parameters.split('&').filter_map(|part| part.split_once('='));
    let parameters = parameters.filter(|(name, _)| SECRET_PARAMETERS.contains(name));
    let words = password.into_iter().chain(parameters.map(|(_, value)| value));
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let address = Some((address.to_owned(), shown_address(address)));
    (!words.is_empty()).then_some(SecretArgument { address, words })
}

struct AddressParts<'a> {
    /// The scheme, and what is between it and the rest.
    scheme: &'a str,
    /// User and password.
    credentials: &'a str,
    place: &'a str,
    parameters: &'a str,
    name: &'a str,
}

impl AddressParts<'_> {
    fn of(address: &str) -> AddressParts<'_> {
        let end = address.find("://").map(|at| at + 3).or(address.find(':').map(|at| at + 1));
        let (scheme, rest) = address.split_at(end.unwrap_or(0));
        // A password may have any characters, so the last @ ends it, but for one in a parameter.
        let parameter = SECRET_PARAMETERS.iter().flat_map(|name| {
            ["?", "&"].map(|sign| rest.find(&format!("{sign}{name}=")).unwrap_or(rest.len()))
        });
        let end = parameter.min().and_then(|end| rest[..end].rfind('@'));
        let (credentials, rest) = end.map_or(("", rest), |at| (&rest[..at], &rest[at + 1..]));
        let (rest, name) = rest.rsplit_once('#').unwrap_or((rest, ""));
        let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        AddressParts { scheme, credentials, place, parameters, name }
    }
}

/// An address without its password and parameters.
pub fn shown_address(address: &str) -> String {
    let AddressParts { scheme, credentials, place, name, .. } = AddressParts::of(address);
    // Keys do not belong in addresses of S3.
    let user = credentials.split(':').next().filter(|_| scheme != "s3://").unwrap_or_default();
    let sign = |of: &str, sign: &'static str| if of.is_empty() { "" } else { sign };
    format!("{scheme}{user}{}{place}{}{name}", sign(user, "@"), sign(name, "#"))
}

fn without(text: &str, secrets: &[SecretArgument]) -> String {
    let mut text = text.to_owned();
    for SecretArgument { address, words } in secrets {
        if let Some((address, shown)) = address {
            text = text.replace(address, shown);
        }
        for word in words {
            text = text.replace(&format!(":{word}@"), "@");
            // A user may be named like the password.
            if address.as_ref().is_none_or(|(_, shown)| !shown.contains(word)) {
                text = hide_word(&text, word);
            }
        }
    }
    text
}

/// Hides a word, which is not empty, where it stands for itself.
fn hide_word(text: &str, word: &str) -> String {
    debug_assert!(!word.is_empty(), "an empty word is everywhere");
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(word) {
        let (before, behind) = (&rest[..at], &rest[at + word.len()..]);
        let is_joined = |next: Option<char>, own: Option<char>| {
            next.is_some_and(char::is_alphanumeric) && own.is_some_and(char::is_alphanumeric)
        };
        let last = before.chars().next_back().or(out.chars().next_back());
        let is_part = is_joined(last, word.chars().next())
            || is_joined(behind.chars().next(), word.chars().next_back());
        out += before;
        out += if is_part { word } else { HIDDEN };
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, arguments: &[&str]) -> String {
        without(text, &secrets_of(arguments.iter().map(|word| (*word).to_owned())))
    }

    #[test]
    fn passwords_of_addresses_are_in_no_text() {
        let passwords = ["secret", "se cret", "a:b/c?d#e@f", "p\"w'", "x", "ä-ö", "%40"];
        for password in passwords {
            for address in [
                format!("postgres://me:{password}@db/worlds#caves"),
                format!("postgress://me:{password}@db/worlds#caves"),
                format!("postgres:me:{password}@db/worlds#caves"),
                format!("ws://me:{password}@server:7777"),
                format!("s3://key:{password}@bucket/hills"),
                format!("https://:{password}@db"),
            ] {
                for argument in [address.clone(), format!("--to={address}")] {
                    let given = [&*argument];
                    for text in [
                        address.clone(),
                        format!("cannot use '{address}': the port {password}@db is wrong"),
                        format!("invalid value '{address}' for '<ADDRESS>': me:{password}@db"),
                        format!("the password \"{password}\" is wrong"),
                    ] {
                        let shown = shown(&text, &given);
                        let alone = format!("{password}@");
                        assert!(!shown.contains(&alone), "{shown}");
                        assert!(password.len() < 2 || !shown.contains(password), "{shown}");
                    }
                }
            }
        }
        let address = "postgres://db/w?user=me&password=secret#caves";
        assert_eq!(shown(&format!("at {address}."), &[address]), "at postgres://db/w#caves.");
        assert_eq!(shown("bad password=secret", &[address]), "bad password=***");
        for address in
            ["postgres://db/w?password=p@ss#caves", "postgres://u@db/w?a=b&password=p@s#c"]
        {
            let shown = shown(&format!("at {address}"), &[address]);
            assert!(!shown.contains("p@s") && !shown.contains("ss#"), "{shown}");
        }
    }

    #[test]
    fn what_is_no_password_stays() {
        let address = "postgres://postgres:postgres@localhost/postgres#caves";
        let shown_address = "postgres://postgres@localhost/postgres#caves";
        assert_eq!(
            shown(&format!("{address}: no world"), &[address]).as_str(),
            format!("{shown_address}: no world")
        );
        let text = "the secretary of secret.tvx saw C:\\a@b and a@b:c#d.tvx";
        let other = ["postgres://me:see@db/w#a", "C:\\a@b", "a@b:c#d.tvx", "postgres", "x"];
        assert_eq!(shown(text, &other), text);
        assert_eq!(shown(text, &["postgres://me:secret@db"]), text.replace("secret.", "***."));
    }

    #[test]
    fn tokens_are_hidden_too() {
        let text = "invalid value 'edt:apple:Ann' for '--token': apple is no right";
        for arguments in [&["--token", "edt:apple:Ann"][..], &["--token=edt:apple:Ann"]] {
            let expected = "invalid value '***' for '--token': *** is no right";
            assert_eq!(shown(text, arguments), expected);
        }
        assert_eq!(shown("apple", &["--token", "apple"]), HIDDEN);
        for arguments in [&["--token", ""][..], &["--token="], &["--token", "edit::Ann"]] {
            assert_eq!(shown("an apple", arguments), "an apple");
        }
    }
}
