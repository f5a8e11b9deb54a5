"""Downloads a model, one GGUF file, or files of a dataset from the Hugging Face Hub into the local cache."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lade_chat.errors import HOW_TO_UNPICKLE, LadeChatError, ModelError, is_connection_problem, summary
from lade_chat.gguf.files import NamedModel, chosen, labels, models_among
from lade_chat.loading.checkpoint import (
    CONFIG,
    PICKLE_WEIGHTS,
    SAFE_WEIGHTS,
    check_tokenizer,
    check_weights,
    no_folder,
    weight_map,
)
from lade_chat.loading.checkpoint_config import check_before_download

_WHAT_THERE_IS = "`lade-chat models` lists the models at hand"
MAX_LISTED = 12
"""GGUF files that an error lists."""
_TIMEOUT = 10.0
"""Seconds to wait for the Hub's first answer."""
_SMALL_FILES = re.compile(r"[^/]+\.(json|model|txt|jinja|tiktoken)|additional_chat_templates/[^/]+\.jinja")


def fetch(
    repo_id: str, report: Callable[[int, int], None], *, trust_remote_code: bool = False, allow_pickle: bool = False
) -> Path:
    """The folder of a Hub model: from the local cache if it is complete there, otherwise downloaded.

    A cached copy is used without asking the Hub, so that it loads at once and offline. ``report(done, total)`` counts
    bytes. Raises ModelError if the model is not available.
    """
    from huggingface_hub import hf_hub_download

    cached = _cached(repo_id, allow_pickle=allow_pickle)
    if cached is not None:
        return cached
    with _explained(repo_id):
        sizes, revision = _listing(repo_id)
        single, index = _form_of_weights(repo_id, sizes, allow_pickle=allow_pickle)
        check_before_download(Path(hf_hub_download(repo_id, CONFIG)), repo_id, trust_remote_code=trust_remote_code)
        wanted = [single]
        if single not in sizes:
            wanted = sorted({*weight_map(Path(hf_hub_download(repo_id, index))).values()}.intersection(sizes))
        wanted += [
            name for name in sizes if _SMALL_FILES.fullmatch(name) or (trust_remote_code and name.endswith(".py"))
        ]
        return _snapshot(repo_id, wanted, sizes, revision, report)


def fetch_file(repo_id: str, wanted: str, report: Callable[[int, int], None]) -> Path:
    """The GGUF file of a Hub repository that has this quantisation or name, as :func:`fetch` finds a folder."""
    cached = _cached_file(repo_id, wanted)
    if cached is not None:
        return cached
    with _explained(repo_id):
        sizes, revision = _listing(repo_id)
        model = _meant(repo_id, models_among(sizes), wanted)
        return _snapshot(repo_id, model.files, sizes, revision, report) / model.first


def fetch_data(dataset: str, names: Sequence[str], report: Callable[[int, int], None]) -> list[Path]:
    """The files of these names in a dataset of the Hub, as :func:`fetch` finds a folder. Raises LadeChatError."""
    from huggingface_hub import errors, try_to_load_from_cache

    cached = [try_to_load_from_cache(dataset, name, repo_type="dataset") for name in names]
    if all(isinstance(path, str) for path in cached):
        return [Path(str(path)) for path in cached]
    try:
        sizes, revision = _listing(dataset, "dataset")
        folder = _snapshot(dataset, names, sizes, revision, report, "dataset")
    except errors.OfflineModeIsEnabled:
        reason = "HF_HUB_OFFLINE forbids a download"
    except Exception as error:  # of either HTTP library that the client may use
        reason = "the Hugging Face Hub cannot be reached" if is_connection_problem(error) else summary(error)
    else:
        return [folder / name for name in names]
    raise LadeChatError(f"{dataset} is not in the Hub's cache, and {reason}: give a folder of its files by --data.")


@contextmanager
def _explained(repo_id: str) -> Iterator[None]:
    try:
        yield
    except ModelError:
        raise
    except Exception as error:  # of either HTTP library that the client may use
        raise ModelError(_explanation(repo_id, error)) from error


def _cached(repo_id: str, *, allow_pickle: bool) -> Path | None:
    """The cached snapshot, if it has all files that loading needs."""
    from huggingface_hub import try_to_load_from_cache

    with _explained(repo_id):
        config = try_to_load_from_cache(repo_id, CONFIG)
    if not isinstance(config, str):
        return None
    folder = Path(config).parent
    try:
        check_tokenizer(folder)
        check_weights(folder, allow_pickle=allow_pickle)
    except ModelError:
        return None
    return folder


def _cached_file(repo_id: str, wanted: str) -> Path | None:
    """The file in the newest cached snapshot that has all parts of it, if no other is meant there."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    kept = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repo_id, repo_type="model") / "snapshots"
    for folder in sorted(kept.glob("*"), key=lambda each: each.stat().st_mtime, reverse=True):
        names = (file.relative_to(folder).as_posix() for file in folder.rglob("*.gguf") if file.is_file())
        found = chosen(models_among(names), wanted)
        if len(found) == 1 and not found[0].missing:
            return folder / found[0].first
    return None


def _listing(repo_id: str, repo_type: str = "model") -> tuple[dict[str, int], str | None]:
    """The names and sizes of a repository's files, and their revision."""
    from huggingface_hub import HfApi

    listing: Any = HfApi().repo_info(repo_id, repo_type=repo_type, files_metadata=True, timeout=_TIMEOUT)
    return {file.rfilename: file.size or 0 for file in listing.siblings or []}, listing.sha


def _snapshot(
    repo_id: str,
    names: Sequence[str],
    sizes: Mapping[str, int],
    revision: str | None,
    report: Callable[[int, int], None],
    repo_type: str = "model",
) -> Path:
    """The folder of a snapshot with these files of its listing, downloaded unless they are in the cache."""
    from huggingface_hub import snapshot_download, try_to_load_from_cache

    if missing := [name for name in names if name not in sizes]:
        raise LadeChatError(f"{missing[0]} is not there")

    def is_cached(name: str) -> bool:
        return isinstance(try_to_load_from_cache(repo_id, name, revision=revision, repo_type=repo_type), str)

    total = sum(sizes[name] for name in names if not is_cached(name))
    report(0, total)
    progress = _progress_class(report, total)
    return Path(snapshot_download(repo_id, repo_type=repo_type, allow_patterns=list(names), tqdm_class=progress))


def _meant(repo_id: str, models: Sequence[NamedModel], wanted: str) -> NamedModel:
    """The wanted one of a repository's models. Raises ModelError, listing them, unless exactly one matches."""
    found = chosen(models, wanted)
    if len(found) == 1:
        return found[0]
    if not models:
        raise ModelError(f"{repo_id} on the Hugging Face Hub holds no GGUF file.")
    what = f"several GGUF files of {wanted}" if found else f"no GGUF file of {wanted}"
    raise ModelError(f"{repo_id} on the Hugging Face Hub holds {what}: {_choices(repo_id, found or models)}.")


def _choices(repo_id: str, models: Sequence[NamedModel]) -> str:
    """Say how to choose one of a repository's GGUF files, and which there are."""
    first, *others = labels(models)
    more = f" (or {', '.join(others[:MAX_LISTED])}{' …' if len(others) > MAX_LISTED else ''})" if others else ""
    return f"choose one, as {repo_id}:{first}{more}"


def _form_of_weights(repo_id: str, names: Collection[str], *, allow_pickle: bool) -> tuple[str, str]:
    """The names of the weights' one file and of their index, in the form to download. Raises ModelError if none is."""
    safe, pickled = (any(name in names for name in forms) for forms in (SAFE_WEIGHTS, PICKLE_WEIGHTS))
    if not safe and not pickled and (packed := models_among(names)):
        raise ModelError(f"{repo_id} on the Hugging Face Hub holds GGUF files: {_choices(repo_id, packed)}.")
    if CONFIG not in names:
        raise ModelError(f"{repo_id} on the Hugging Face Hub holds no {CONFIG}, so it is no transformers checkpoint.")
    if not safe and not pickled:
        raise ModelError(f"{repo_id} on the Hugging Face Hub holds no {SAFE_WEIGHTS[0]}: it cannot be loaded.")
    if not safe and not allow_pickle:
        raise ModelError(
            f"{repo_id} holds its weights as a pickle ({PICKLE_WEIGHTS[0]}), which can run code when it is read."
            f" If you trust where it comes from, {HOW_TO_UNPICKLE}."
        )
    return SAFE_WEIGHTS if safe else PICKLE_WEIGHTS


def _progress_class(report: Callable[[int, int], None], total: int) -> type[Any]:
    """A tqdm class for the Hub's client that reports received bytes instead of drawing a bar."""
    from huggingface_hub.utils.tqdm import tqdm

    furthest = 0

    class Bytes(tqdm):
        """One of the client's bars; those that count files report nothing."""

        def __init__(self, *args: Any, **keywords: Any) -> None:
            self.counts_bytes = keywords.get("unit") == "B"
            self.bytes = int(keywords.get("initial") or 0)
            super().__init__(*args, **{**keywords, "disable": True})  # type: ignore[no-untyped-call]

        def update(self, n: float | None = 1) -> None:
            nonlocal furthest
            self.bytes += int(n or 0)
            # The client has one bar for bytes received and one for bytes written: the greater counts.
            if self.counts_bytes and self.bytes > furthest:
                furthest = self.bytes
                report(min(furthest, total), total)

    return Bytes


def _explanation(repo_id: str, error: BaseException) -> str:
    """One line with the reason for which the download failed."""
    from huggingface_hub import errors

    page = f"https://huggingface.co/{repo_id}"
    if isinstance(error, errors.GatedRepoError):
        return f"{repo_id} is gated: ask for access at {page}, then log in with `hf auth login`."
    if isinstance(error, errors.RepositoryNotFoundError):
        return (
            f"{no_folder(repo_id)}, and no such model on the Hugging Face Hub:"
            f" {_WHAT_THERE_IS}; for a private one, log in with `hf auth login`."
        )
    if isinstance(error, errors.HFValidationError):
        return f"{no_folder(repo_id)}, and it is no valid Hub id (org/name)."
    nowhere = f"{no_folder(repo_id)}, nor a whole download, and"
    if isinstance(error, errors.OfflineModeIsEnabled):
        return f"{nowhere} HF_HUB_OFFLINE forbids a download: unset it; {_WHAT_THERE_IS}."
    if is_connection_problem(error):
        return f"{nowhere} the Hugging Face Hub cannot be reached: {_WHAT_THERE_IS}."
    return f"{repo_id} cannot be downloaded from the Hugging Face Hub: {summary(error)}"
