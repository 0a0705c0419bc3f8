"""Where an app is: "package.module:app", or "path/to/script.py:app" for one that lives in a script."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from tenure.errors import UsageError
from tenure.kinds import Kinds

__all__ = ["address_of", "load", "loading", "surroundings"]

_SCRIPT = "__tenure_"
"""How the modules made of scripts are named: they can be found again only by their path."""
_loading = ContextVar("loading", default=False)
_loaded: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""Where apps were loaded from."""


def load(address: str) -> Any:
    """The app at this address; UsageError says what is wrong with it."""
    where, colon, name = address.rpartition(":")
    if not colon or not where or not name:
        raise UsageError(f"{address!r} names no app; write module:app, or path/to/script.py:app")
    before = _loading.set(True)
    try:
        module = _from_file(Path(where)) if where.endswith(".py") else _from_module(where)
    finally:
        _loading.reset(before)
    app: Any = module
    for part in name.split("."):
        app = getattr(app, part, None)
    if not _is_app(app):
        apps = [n for n, v in vars(module).items() if _is_app(v)]
        known = f"it has {', '.join(apps)}" if apps else "it has no tenure.App"
        raise UsageError(f"{address!r}: {where} has no app named {name!r}; {known}")
    where = str(Path(where).resolve()) if where.endswith(".py") else where
    with suppress(TypeError):  # who cannot be held so is found in its module
        _loaded[app] = f"{where}:{name}"
    return app


def loading() -> bool:
    """Whether an app is being imported by its address: for a worker, one of a pool, or a child process."""
    return _loading.get()


def address_of(app: object, module_name: str) -> str | None:
    """The address under which another process finds this app; None if there is none.

    It is looked for in the module that made it, then it is where it was loaded from, or in any module: a factory or a subclass
    in one module may make what stands in another.
    """
    found = _address_in(module_name, app) or _loaded.get(app)
    return found or next((there for name in list(sys.modules) if (there := _address_in(name, app))), None)


def _address_in(module_name: str, app: object) -> str | None:
    module = sys.modules.get(module_name)
    try:
        name = next((n for n, v in list(vars(module).items()) if v is app), None)
    except TypeError:  # something else stands there
        return None
    if name is None:
        return None
    spec = getattr(module, "__spec__", None)
    if spec is not None and spec.name and spec.name != "__main__" and not spec.name.startswith(_SCRIPT):
        where = spec.name.removesuffix(".__main__") if module_name != "__main__" else spec.name
        return f"{where}:{name}"
    file = getattr(module, "__file__", None)
    return None if file is None else f"{Path(file).resolve()}:{name}"


def surroundings(**more: str) -> dict[str, str]:
    """The environment of a process that is to find the same modules as this one."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **more}


def _is_app(thing: object) -> bool:
    return isinstance(getattr(thing, "kinds", None), Kinds)


def _from_module(name: str) -> ModuleType:
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            raise UsageError(
                f"there is no module {error.name!r} here; run this from the folder that holds it, or install it"
            ) from None
        raise


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no file {str(path)!r}")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = f"{_SCRIPT}{path.stem}__"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{str(path)!r} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
