"""Edakunni, Schaal & Vijayakumar (2007), "Kernel carpentry for online regression using randomly
varying coefficient model".
"""
