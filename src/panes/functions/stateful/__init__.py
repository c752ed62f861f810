"""Stateful functions: the contract of users' own, the table of built-in ones, and the registry of both."""

from panes.functions.stateful.built_ins import BUILT_INS
from panes.functions.stateful.contract import StatefulFunction, StatefulFunctionInstance
from panes.functions.stateful.decorator import stateful
from panes.functions.stateful.registry import StatefulFunctionRegistry

__all__ = ["BUILT_INS", "StatefulFunction", "StatefulFunctionInstance", "StatefulFunctionRegistry", "stateful"]
